/**
 * The language that a person has chosen in JupyterLab: its words, and how it writes numbers.
 */
import {
  ITranslator,
  nullTranslator,
  TranslationBundle
} from '@jupyterlab/translation';
import { setLanguage } from '../model/format';
import { DOMAIN } from '../panels/section';

/** Return our words in the language of the application. */
export function languageOf(translator: ITranslator | null): TranslationBundle {
  const language = translator ?? nullTranslator;
  setLanguage(language.languageCode);
  return language.load(DOMAIN);
}
