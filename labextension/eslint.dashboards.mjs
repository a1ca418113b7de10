// For the scripts of the dashboards' pages, which browsers load as they are. `jlpm lint:dashboards` runs it in their folder.
import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import globals from 'globals';

export default [
  js.configs.recommended,
  {
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: 'script',
      globals: { ...globals.browser }
    },
    rules: {
      curly: ['error', 'all'],
      eqeqeq: 'error'
    }
  },
  prettier
];
