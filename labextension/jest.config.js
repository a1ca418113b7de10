const jupyterlab = require('@jupyterlab/testing/lib/jest-config');

// Packages that are published as ES modules only; babel turns them into CommonJS.
const esModules = [
  '@codemirror',
  '@jupyter', // @jupyter/* and @jupyterlab/*
  '@marijn',
  '@microsoft',
  'color',
  'exenv-es6',
  'lib0',
  'marked',
  'nanoid',
  'vscode-ws-jsonrpc',
  'y-protocols',
  'yjs'
].join('|');

module.exports = {
  ...jupyterlab(__dirname),
  automock: false,
  // All CPUs; by default one is left free.
  maxWorkers: '100%',
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/lib'],
  reporters: ['default'],
  testRegex: 'src/.*\\.spec\\.tsx?$',
  // Of one test, on a busy machine; by default 5 s.
  testTimeout: 60_000,
  transformIgnorePatterns: [`/node_modules/(?!(${esModules})).+`]
};
