import assert from 'node:assert/strict'
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { type LogOptions, openLog, openRotatingFile } from '../../src/base/log.ts'
import { redactText } from '../../src/base/redact.ts'
import { closeFails } from '../support/failing-close.ts'
import { tempDir } from '../support/world.ts'

function logIn(dir: string, more: Partial<LogOptions> = {}) {
  const file = join(dir, 'logs', 'daemon.log')
  const log = openLog({ file, level: 'info', maxBytes: 1_000_000, keep: 3, ...more })
  return { file, log, text: () => readFileSync(file, 'utf8') }
}

test('lines are JSON with a time, a level and a phrase, from the given level up', t => {
  const { log, text } = logIn(tempDir(t))
  log.debug({ n: 1 }, 'unseen')
  log.child({ session: 's-1' }).warn({ n: 2 }, 'seen')
  const [line, ...others] = text().trim().split('\n')
  assert.deepEqual(others, [])
  const { time, ...rest } = JSON.parse(line ?? '')
  assert.ok(Date.parse(time) > 0)
  assert.deepEqual(rest, { level: 'warn', pid: process.pid, session: 's-1', n: 2, msg: 'seen' })
  log.close()
})

test('secrets never reach the file: by key, by shape, by value, in errors and in nested fields', t => {
  const { log, text } = logIn(tempDir(t))
  const key = 'sk-ant-api03-AAAAbbbbCCCC_1234-xyz'
  const token = 'TheDaemonsOwnToken1234'
  const shown = log.hide([token, 'x'])
  log.info({ env: { HOME: '/h', ANTHROPIC_API_KEY: key } }, 'by key')
  log.info({ headers: { authorization: `Bearer ${token}` }, deep: { a: [{ api_key: 'abc12345678' }] } }, 'nested')
  log.info({ said: `the key is ${key}, use Bearer abcdefghijkl` }, 'by shape')
  log.error({ error: new Error(`refused: ${key}`, { cause: new Error(token) }) }, 'in an error')
  log.child({ token, note: key }).info({ line: `MY_TOKEN=abc123 GITHUB=ghp_abcdefghijklmnop` }, 'in a child')
  log.info({ x: 'x stays' }, token)
  for (const secret of [key, 'AAAAbbbb', token, 'abcdefghijkl', 'abc12345678', 'abc123', '/h"']) {
    assert.equal(text().includes(secret), false, `${secret} in ${text()}`)
  }
  assert.match(text(), /x stays/)
  shown()
  log.info({}, token)
  assert.ok(text().includes(token))
  log.close()
})

test('a busy log writes the same lines together, without secrets, to its file and its copies', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const copied: string[] = []
  const { log, text } = logIn(tempDir(t), { isBusy: true, copies: [undefined, line => copied.push(line)] })
  log.hide(['TheDaemonsOwnToken1234'])
  log.debug({}, 'unseen')
  log.info({ caller: 'TheDaemonsOwnToken1234', status: 200 }, 'request')
  log.warn({}, `Bearer ${'abcdefghijkl'}`)
  assert.equal(text(), '', 'they wait for others')
  t.mock.timers.tick(50)
  const lines = text().trimEnd().split('\n')
  assert.deepEqual(
    copied,
    lines.map(line => `${line}\n`),
  )
  const { pid } = process
  assert.deepEqual(
    lines.map(line => ({ ...JSON.parse(line), time: undefined })),
    [
      { level: 'info', time: undefined, pid, caller: '[hidden]', status: 200, msg: 'request' },
      { level: 'warn', time: undefined, pid, msg: 'Bearer [hidden]' },
    ],
  )
  log.info({ long: 'x'.repeat(70_000) }, 'much')
  assert.match(text(), /"msg":"much"\}\n$/, 'no more wait than the memory may hold')
  log.info({}, 'last')
  log.close()
  assert.match(text(), /"msg":"last"\}\n$/)
})

test('a value hidden twice stays hidden until both are released', t => {
  const { log, text } = logIn(tempDir(t))
  const first = log.hide(['shared-secret'])
  const second = log.hide(['shared-secret'])
  first()
  first()
  log.info({}, 'shared-secret')
  assert.equal(text().includes('shared-secret'), false)
  second()
  log.close()
})

test('every log entry is one JSON object on one line', t => {
  const { log, text } = logIn(tempDir(t))
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (fields, message) => {
      log.info(fields, message)
    }),
  )
  for (const line of text().trim().split('\n')) assert.equal(typeof JSON.parse(line), 'object')
  log.close()
})

test('a text without secrets comes through as it was', () => {
  for (const text of ['a task about tokens', 'risk-free', 'bearer of news', 'AUTH=', 'https://x.invalid/?a=b']) {
    assert.equal(redactText(text), text)
  }
})

test('the file rotates by size, and a limited number of old files is kept, none of them larger', t => {
  const dir = tempDir(t)
  const { log } = logIn(dir, { maxBytes: 10_000, keep: 2 })
  for (let n = 0; n < 400; n += 1) log.info({ n, fill: 'y'.repeat(100) }, 'line')
  const files = readdirSync(join(dir, 'logs')).sort()
  assert.deepEqual(files, ['daemon.log', 'daemon.log.1', 'daemon.log.2'])
  const lines = ['daemon.log.2', 'daemon.log.1', 'daemon.log'].flatMap(name => {
    assert.ok(statSync(join(dir, 'logs', name)).size <= 10_000)
    assert.equal(statSync(join(dir, 'logs', name)).mode & 0o777, 0o600)
    return readFileSync(join(dir, 'logs', name), 'utf8')
      .trim()
      .split('\n')
  })
  const numbers = lines.map(line => JSON.parse(line).n as number)
  assert.equal(numbers.at(-1), 399)
  assert.deepEqual(
    numbers,
    Array.from({ length: numbers.length }, (_, k) => 400 - numbers.length + k),
  )
  log.close()
})

test('an existing log is continued', t => {
  const dir = tempDir(t)
  for (const n of [1, 2]) {
    const { log } = logIn(dir)
    log.info({ n }, 'line')
    log.close()
  }
  assert.equal(
    readFileSync(join(dir, 'logs', 'daemon.log'), 'utf8')
      .trim()
      .split('\n').length,
    2,
  )
})

test('a file that cannot be rotated is still written, closes no other file, and is rotated later', t => {
  const dir = tempDir(t)
  const file = join(dir, 'log')
  const log = openRotatingFile({ file, maxBytes: 10, keep: 1 })
  log.write('first line\n')
  mkdirSync(`${file}.1`)
  log.write('second line\n')
  const other = openSync(join(dir, 'other'), 'w')
  log.write('third line\n')
  assert.ok(fstatSync(other).isFile())
  closeSync(other)
  assert.equal(readFileSync(file, 'utf8'), 'first line\nsecond line\nthird line\n')
  rmdirSync(`${file}.1`)
  log.write('fourth line\n')
  log.close()
  assert.equal(readFileSync(file, 'utf8'), 'fourth line\n')
})

test('a closed file, or one that failed to close, is not written any more, nor is another file with the same descriptor', t => {
  const dir = tempDir(t)
  const options = { maxBytes: 10, keep: 1 }
  const [broken, other] = [join(dir, 'broken'), join(dir, 'other')]
  const file = openRotatingFile({ ...options, file: broken })
  file.write('123456789\n')
  closeFails(t)
  file.write('rotated\n') // the old file could not be closed during the rotation
  const next = openSync(other, 'a') // gets the number that was just closed
  file.write('a\n')
  file.close()
  file.write('too late\n')
  closeSync(next)
  assert.deepEqual(
    [broken, `${broken}.1`, other].map(each => readFileSync(each, 'utf8')),
    ['rotated\na\n', '123456789\n', ''],
  )
})
