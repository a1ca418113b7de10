import { themeOf } from '../model/theme';

describe('themeOf', () => {
  it.each([
    ['JupyterLab Light', true, false, 'light'],
    ['JupyterLab Dark', false, false, 'dark'],
    ['JupyterLab Dark High Contrast', false, false, 'high-contrast'],
    ['somebody-high-contrast-light', true, false, 'high-contrast'],
    ['JupyterLab Light', true, true, 'high-contrast'],
    [null, true, false, 'light']
  ])('%s, light %s, more contrast %s: %s', (name, isLight, contrast, theme) => {
    expect(themeOf(name, isLight, contrast)).toBe(theme);
  });
});
