/**
 * Names of users' as they are shown: what cannot be seen, or turns the text after it round, is an escape, as in the dashboards. Pure.
 */

const HIDDEN =
  /(?![\t\n\r])[\p{Cc}\p{Cs}\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** Return a text with hidden characters as escapes. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escaped);
}

function escaped(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}

/** Return an object with the texts of some of its fields as they are shown. */
export function withVisible<T extends object>(
  entry: T,
  ...fields: (keyof T)[]
): T {
  const shown = { ...entry };
  for (const field of fields) {
    const text = entry[field];
    if (typeof text === 'string') {
      shown[field] = visible(text) as T[typeof field];
    }
  }
  return shown;
}
