import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tempDir } from '../../support/world.ts'
import { allowing, until } from '../conformance/world.ts'
import { bubblewrap } from '../sandbox/a-sandbox.ts'
import { refusedHere } from '../sandbox/refused-here.ts'
import { PLAIN, type StageOptions, stage } from './stage.ts'

const WAYS = ['fs/read_text_file', 'fs/write_text_file', 'terminal/create', 'terminal/output', 'terminal/kill']

/** Requests every service that a client may offer, and returns the answers. */
async function asked(t: TestContext, options: StageOptions) {
  const cwd = tempDir(t, 'pcc-project-')
  const mark = join(tempDir(t), 'ran')
  writeFileSync(join(cwd, 'a.txt'), 'inside')
  const params = { path: join(cwd, 'a.txt'), content: 'x', command: `touch ${mark}`, terminalId: 'term-1' }
  const asks = allowing()
  const { open, ...rest } = options
  const prompt = [...WAYS.map(ask => ({ ask, params })), { answer: { stopReason: 'end_turn' } }]
  const { talk, replies, heard } = await stage(
    t,
    { prompt },
    { ...rest, notes: join(cwd, 'heard'), open: { asks, cwd, ...open } },
  )
  assert.equal((await talk.turn()).outcome, 'completed')
  const hello = heard().find(({ method }) => method === 'initialize')?.params?.['clientCapabilities']
  return { messages: replies().map(({ error }) => error?.message ?? ''), requests: asks.requests, hello, mark }
}

test('what a manifest does not serve is refused, whoever asks for it', async t => {
  const manifest = { start: { ...PLAIN.start, serves: { files: false, terminals: false } } }
  const { messages, requests, mark } = await asked(t, { manifest })
  assert.equal(messages.length, WAYS.length)
  for (const message of messages) assert.match(message, /^Not allowed: there are no (files|terminals) of the client/)
  assert.deepEqual([requests, existsSync(mark)], [[], false])
})

test('nothing is done outside for an agent in a sandbox, and it is told so', async t => {
  if (!('program' in bubblewrap)) return refusedHere(t)
  const sandbox = { mode: 'required' as const, made: bubblewrap, network: [], read: [], write: [], hidden: [] }
  const { messages, requests, hello, mark } = await asked(t, { open: { sandbox } })
  assert.equal(messages.length, WAYS.length)
  for (const message of messages) assert.match(message, /^Not allowed: there are no (files|terminals) of the client/)
  assert.deepEqual([requests, existsSync(mark)], [[], false])
  const { fs, terminal } = hello as { fs: unknown; terminal: unknown }
  assert.deepEqual([fs, terminal], [{ readTextFile: false, writeTextFile: false }, false])
})

test('a command that we run for an agent ends with the turn that is interrupted', async t => {
  const cwd = tempDir(t, 'pcc-project-')
  const file = join(cwd, 'pid')
  const create = { ask: 'terminal/create', params: { command: `echo $$ > ${file}; exec sleep 300` } }
  // The session goes on: only the stop can have ended it.
  const { talk } = await stage(
    t,
    { prompt: [create, { awaitCancel: true }, { answer: { stopReason: 'cancelled' } }] },
    { open: { cwd } },
  )
  await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'))
  const pid = Number(readFileSync(file, 'utf8'))
  await talk.session.interrupt()
  assert.equal((await talk.turn()).outcome, 'interrupted')
  await until(() => !existsSync(`/proc/${pid}`))
})
