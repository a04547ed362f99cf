inline long long esp_timer_get_time() { return 0; }
