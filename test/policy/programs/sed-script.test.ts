import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSedScript } from '../../../src/policy/programs/sed.ts'

const effects = (script: string) => {
  const { writes, reads, runs, readable } = readSedScript(script)
  return [writes, reads, runs, readable]
}

test('scripts that only print are read to the end and do nothing else', () => {
  for (const script of [
    's/a/b/',
    's|/usr|/opt|g',
    's/[/]/x/',
    's,a\\,b,c,2p',
    '/x/,/y/{/z/!d;p}',
    '10,20p;30q',
    '1~2d',
    '$!N;s/\\n/ /;P;D',
    ':a;N;$!ba;s/\\n/,/g',
    'y/abc/xyz/',
    '\\,x,d',
    '/w x/d',
    's/e$/w/',
    '1i\\\n// w out',
    'a text; w out',
    '# w out\np',
    '/a/I,+3d',
    '5!{s/a/b/;t end}\n:end',
    '',
  ])
    assert.deepEqual(effects(script), [[], [], false, true], script)
})

test('a file that is written is found with and without a blank, behind any address and any delimiter', () => {
  for (const script of [
    'w out',
    'wout',
    '1,5wout',
    '/x/I w out',
    '\\,x,w out',
    's/a/b/w out',
    'sxaxbxw out',
    'p\nw out',
  ])
    assert.deepEqual(effects(script)[0], script.includes('[') ? ['out', 'out'] : ['out'], script)
})

test('a command that is run is found in every spelling', () => {
  for (const script of ['e', 'e id', '1eid', 's/a/id/e', 'sxaxidxe', 's a id e', 's/a/b/;s/c/d/ge', 's/[/]/id/e'])
    assert.equal(effects(script)[2], true, script)
})

test('a file that is read is named', () => {
  assert.deepEqual(effects('1r.env')[1], ['.env'])
  assert.deepEqual(effects('/x/R other')[1], ['other'])
})

test('what is no sed is not readable', () => {
  for (const script of ['s/a/b', 'k', 'p p', 's/a/b/q', '/x']) assert.equal(effects(script)[3], false, script)
})
