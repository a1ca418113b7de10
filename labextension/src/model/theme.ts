/**
 * Which of the dashboards' themes goes with JupyterLab's. It knows neither.
 */
import { Theme } from '../request';

const HIGH_CONTRAST = /high.?contrast/i;

/**
 * The dashboards' theme.
 *
 * @param name - The name of JupyterLab's theme, or null if there is none yet.
 * @param isLight - Whether that is light.
 * @param prefersContrast - Whether the browser asks for more contrast.
 */
export function themeOf(
  name: string | null,
  isLight: boolean,
  prefersContrast: boolean
): Theme {
  if (prefersContrast || HIGH_CONTRAST.test(name ?? '')) {
    return 'high-contrast';
  }
  return isLight ? 'light' : 'dark';
}
