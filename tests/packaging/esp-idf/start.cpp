extern "C" void app_main();
int main() { app_main(); }
