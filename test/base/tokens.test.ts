import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachToken, queryTokens, stem, tokensOfNames } from '../../src/base/tokens.ts'

function tokens(text: string): string[] {
  const found: string[] = []
  eachToken(text, token => found.push(token))
  return found
}

test('an identifier gives its whole name and its parts, however it is written', () => {
  for (const name of ['parseHttpReply2', 'parse_http_reply_2', 'ParseHTTPReply2', 'PARSE_HTTP_REPLY_2'])
    assert.deepEqual(tokens(name), ['parsehttpreply2', 'pars', 'http', 'reply'], name)
})

test('the forms of a word have one stem', () => {
  const families = [
    'migrate migrates migrated migrating migration migrations',
    'parse parser parsing parsed',
    'setting settings',
    'query queries queried',
    'stop stopped stopping',
    'class classes',
  ]
  for (const family of families) assert.equal(new Set(family.split(' ').map(stem)).size, 1, family)
  for (const word of ['status', 'bus', 'user', 'process']) assert.equal(stem(word), word)
})

test('the words of a path and of a query may be joined by hyphens', () => {
  assert.ok(tokensOfNames('src/git-folder.ts').includes('gitfolder'))
  assert.ok(tokens('gitFolder').includes('gitfolder'))
})

test('a query is read without words that say nothing, unless it has no others', () => {
  assert.deepEqual(queryTokens('where is the session started?'), ['sess', 'start'])
  assert.deepEqual(queryTokens('who is it'), ['who', 'is', 'it'])
})

test('a script without spaces is read in pairs of signs, other scripts in words', () => {
  assert.deepEqual(tokens('設定を読む'), ['設定', '定を', 'を読', '読む'])
  assert.deepEqual(tokens('Überprüfung läuft'), ['überprüfung', 'läuft'])
})
