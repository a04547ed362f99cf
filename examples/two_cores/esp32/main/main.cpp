/* ESP32 or ESP32-S3, FreeRTOS on both cores: task notifications count, and order memory. */
#include "classify.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

static TaskHandle_t task[2]; /* of core 0 and core 1 */

static void wake(void *, int core) { xTaskNotifyGive(task[core]); }

static void wait(void *, int) {
  while (ulTaskNotifyTake(pdFALSE, portMAX_DELAY) == 0) {
  }
}

static tmo_team team = {wake, wait, nullptr, nullptr, nullptr, nullptr, TMO_OK, nullptr};

static void second_core(void *) {
  for (;;) tmo_run_worker(&team);
}

extern "C" void app_main() {
  if (!prepare(&team)) return;
  task[0] = xTaskGetCurrentTaskHandle();
  if (xTaskCreatePinnedToCore(second_core, "tmo", 4096, nullptr, 5, &task[1], 1) != pdPASS) return;
  for (;;) {
    classify();
    vTaskDelay(pdMS_TO_TICKS(1000));
  }
}
