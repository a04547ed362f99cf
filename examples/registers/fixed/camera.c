#include "camera.h"

enum { CAMERA_POLLS = 10000 }; /* After CAMERA_POLLS polls of a flag, the driver returns a timeout. */
enum { DMA_REQUEST_CAMERA = 1, DMA_PERIPHERAL_TO_MEMORY = 0, DMA_WORDS = 2, DMA_VERY_HIGH = 3 };

static uint32_t camera_data_register(void) { return 0x50050028u; }

void camera_configure(const camera_config *config) {
  camera->CR.ENABLE = 0;
  camera->CR.SNAPSHOT = 1;
  camera->CR.CROP = 1;
  camera->CR.PCKPOL = config->pixel_clock_rises != 0;
  camera->CR.HSPOL = config->hsync_high != 0;
  camera->CR.VSPOL = config->vsync_high != 0;
  camera->CR.FCRC = config->skip;
  camera->CR.EDM = 0;
  camera->CWSTRT.HOFFCNT = config->x;
  camera->CWSTRT.VST = config->y;
  camera->CWSIZE.CAPCNT = config->width - 1u;
  camera->CWSIZE.VLINE = config->height - 1u;
  camera->IER.FRAME = 0;
  camera->IER.OVR = 0;

  dma->CR.EN = 0;
  dma->CR.CHSEL = DMA_REQUEST_CAMERA;
  dma->CR.DIR = DMA_PERIPHERAL_TO_MEMORY;
  dma->CR.CIRC = 1;
  dma->CR.PINC = 0;
  dma->CR.MINC = 1;
  dma->CR.PSIZE = DMA_WORDS;
  dma->CR.MSIZE = DMA_WORDS;
  dma->CR.PL = DMA_VERY_HIGH;
  dma->CR.DBM = 1;
  dma->CR.TCIE = 0;
  dma->CR.TEIE = 0;
  dma->NDTR = config->width / 4u;
  dma->PAR = camera_data_register();
}

void camera_start(uint32_t rows0, uint32_t rows1) {
  dma->IFCR.TCIF = 1;
  dma->IFCR.TEIF = 1;
  dma->M0AR = rows0;
  dma->M1AR = rows1;
  dma->CR.CT = 0;
  dma->CR.EN = 1;
  camera->ICR.FRAME = 1;
  camera->ICR.OVR = 1;
  camera->CR.ENABLE = 1;
  camera->CR.CAPTURE = 1;
}

camera_status camera_wait_row(int *row) {
  int polls;
  for (polls = 0; polls < CAMERA_POLLS && !dma->ISR.TCIF; ++polls) {
  }
  if (polls == CAMERA_POLLS) return CAMERA_TIMEOUT;
  *row = !dma->CR.CT; /* CT is the buffer that the DMA channel fills now, so the complete row is in the other buffer. */
  dma->IFCR.TCIF = 1;
  if (dma->ISR.TEIF) return CAMERA_OVERRUN;
  if (camera->RIS.OVR) return CAMERA_OVERRUN;
  return CAMERA_OK;
}

camera_status camera_stop(void) {
  int polls;
  for (polls = 0; polls < CAMERA_POLLS && !camera->RIS.FRAME; ++polls) {
  }
  camera->CR.CAPTURE = 0;
  camera->CR.ENABLE = 0;
  dma->CR.EN = 0;
  camera->ICR.FRAME = 1;
  return polls == CAMERA_POLLS ? CAMERA_TIMEOUT : CAMERA_OK;
}
