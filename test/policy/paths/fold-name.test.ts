import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldName } from '../../../src/policy/paths/wildcard.ts'

test('names that some file system takes for one are one', () => {
  const rows: [string, string[]][] = [
    [
      '.env',
      [
        '.ENV',
        '.Env',
        '.env.',
        '.env ',
        '.env. .',
        '.env...',
        '.\u200benv',
        '．env',
        '.eｎv',
        '.env\u00ad',
        '\u2060.ENV',
      ],
    ],
    ['ssh', ['SSH', '\u{1d5cc}\u{1d5cc}h', 'ssh\u200d']],
    ['käse', ['KÄSE', 'ka\u0308se', 'KA\u0308SE']],
    ['id_rsa', ['ID_RSA', '\u2160D_RSA']],
  ]
  for (const [name, others] of rows)
    for (const other of others) assert.equal(foldName(other), name, JSON.stringify(other))
})

test('dots and spaces at the beginning or within a name are part of it', () => {
  for (const name of ['.env', 'a.b', 'a b.c', ' a', '..a', 'a. b']) assert.equal(foldName(name), name)
})

test('a name of nothing but dots keeps them', () => {
  for (const name of ['.', '..', ' ', '. .']) assert.equal(foldName(name), name)
})
