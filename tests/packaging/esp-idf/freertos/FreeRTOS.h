#define pdFALSE 0
#define pdPASS 1
#define portMAX_DELAY 0
#define pdMS_TO_TICKS(t) (t)
