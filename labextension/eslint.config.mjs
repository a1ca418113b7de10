import js from '@eslint/js';
import prettier from 'eslint-config-prettier';
import globals from 'globals';
import tseslint from 'typescript-eslint';

// All that a person reads goes through the translation.
const WORDS = '/[A-Za-z]{2}/';
const READ =
  '/^(label|caption|title|body|okLabel|detail|mend|displayName|placeholder|textContent|ariaLabel|aria-label|alt)$/';
const MESSAGE = 'A person reads this: translate it with trans.__().';
const untranslated = [
  `JSXText[value=${WORDS}]`,
  `JSXAttribute[name.name=${READ}] > Literal[value=${WORDS}]`,
  `JSXAttribute[name.name=${READ}] > JSXExpressionContainer > TemplateLiteral > TemplateElement[value.raw=${WORDS}]`,
  `Property[key.name=${READ}] > Literal.value[value=${WORDS}]`,
  `Property[key.name=${READ}] > TemplateLiteral.value > TemplateElement[value.raw=${WORDS}]`,
  `AssignmentExpression[left.property.name=${READ}] > Literal.right[value=${WORDS}]`,
  `CallExpression[callee.property.name='setAttribute'][arguments.0.value=${READ}] > Literal:nth-child(2)[value=${WORDS}]`,
  `VariableDeclarator[id.name=/^(message|words|label)$/] > Literal[value=${WORDS}]`,
  `VariableDeclarator[id.name=/^(message|words|label)$/] > TemplateLiteral > TemplateElement[value.raw=${WORDS}]`,
  'ConditionalExpression > Literal[value=/^[A-Z][a-z]+ .* /]',
  'ReturnStatement > Literal[value=/^[A-Z][a-z]+ .* /]',
  `NewExpression[callee.name=/Error$|Refused$/] > Literal[value=${WORDS}]`,
  `CallExpression[callee.object.name='Notification'] > Literal[value=${WORDS}]`
];

export default tseslint.config(
  { ignores: ['coverage', 'dist', 'lib', 'node_modules', '**/*.config.js'] },
  js.configs.recommended,
  ...tseslint.configs.recommended,
  {
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    languageOptions: {
      globals: { ...globals.browser },
      parserOptions: {
        project: 'tsconfig.test.json',
        tsconfigRootDir: import.meta.dirname
      }
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { args: 'none' }],
      curly: ['error', 'all'],
      eqeqeq: 'error',
      'no-restricted-syntax': [
        'error',
        ...untranslated.map(selector => ({ selector, message: MESSAGE })),
        {
          selector:
            "CallExpression[callee.property.name='_n'] > Literal[value=/%1/]",
          message:
            'Counts are written as the language does: "%2" and formatCount().'
        }
      ]
    }
  },
  {
    files: ['src/__tests__/**'],
    rules: { 'no-restricted-syntax': 'off' }
  },
  prettier
);
