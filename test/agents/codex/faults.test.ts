import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { codexDriver } from '../../../src/agents/codex/driver.ts'
import { tempDir } from '../../support/world.ts'
import { asking, until } from '../conformance/world.ts'
import { type CodexStep, OPENED } from './scripted-codex.ts'
import { stage } from './stage.ts'

const DONE: CodexStep = { over: 'completed' }
const command = { type: 'commandExecution', id: 'c1', command: "/bin/bash -lc 'touch x'", status: 'inProgress' }

test('garbage on stdout between messages is passed over and told to the log', async t => {
  const lines: string[] = []
  const { talk } = await stage(
    t,
    { start: [{ raw: 'npm warn something' }], turn: [{ raw: '{"half":' }, { raw: '[1,2]' }, { say: 'One.' }, DONE] },
    { driver: { log: line => lines.push(line) } },
  )
  const ended = await talk.turn()
  assert.deepEqual([ended.outcome, ended.text], ['completed', 'One.'])
  assert.equal(lines.filter(line => line.includes('not a message on stdout')).length, 3)
})

test('one that speaks nothing but garbage ends the session', async t => {
  const { talk } = await stage(t, { initialize: [{ raw: Array(1500).fill('not json').join('\n') }, { hang: true }] })
  const { reason, failure } = await talk.until('ended')
  assert.equal(reason, 'failed')
  assert.match(failure?.message ?? '', /wrote 1000 lines in a row that are no messages/)
})

test('any number of lines that are no messages is passed over among those that are', async t => {
  const some = { raw: Array(600).fill('debug').join('\n') }
  const { talk } = await stage(t, { turn: [some, { say: 'One.' }, some, { say: 'Two.' }, DONE] })
  assert.equal((await talk.turn()).outcome, 'completed')
})

test('one that never answers fails with the time it had', async t => {
  for (const script of [{ initialize: [{ hang: true as const }] }, { thread: [{ hang: true as const }] }]) {
    const { talk } = await stage(t, script, { driver: { startMs: 300 } })
    assert.equal((await talk.turn()).outcome, 'failed')
    assert.match((await talk.until('ended')).failure?.message ?? '', /did not answer within 0\.3 s/)
  }
})

test('one that exits at its start fails with its last words', async t => {
  const { talk } = await stage(t, { start: [{ stderr: 'the licence ran out\n' }, { exit: 3 }] })
  const { reason, failure } = await talk.until('ended')
  assert.deepEqual([reason, failure?.kind], ['failed', 'agent_crashed'])
  assert.match(failure?.message ?? '', /exit code 3: the licence ran out/)
})

test('one that does not take the policy it is told, or another sandbox, is not worked with', async t => {
  const others: [object, RegExp][] = [
    [{ approvalPolicy: 'on-request' }, /does not ask about everything.*on-request/],
    [{ approvalsReviewer: 'auto_review' }, /does not ask about everything/],
    [{ sandbox: { type: 'dangerFullAccess' } }, /its sandbox is .*dangerFullAccess/],
    [{ sandbox: { ...OPENED.sandbox, excludeSlashTmp: false } }, /its sandbox is/],
    [{ sandbox: { ...OPENED.sandbox, networkAccess: true } }, /its sandbox is/],
    [{ sandbox: { ...OPENED.sandbox, writableRoots: ['/home'] } }, /its sandbox is .*home/],
  ]
  for (const [other, words] of others) {
    const { talk, heard } = await stage(t, { thread: [{ answer: { ...OPENED, ...other } }, { hang: true }] })
    const { reason, failure } = await talk.until('ended')
    assert.equal(reason, 'failed')
    assert.match(failure?.message ?? '', words)
    assert.equal(
      heard().some(one => one.method === 'turn/start'),
      false,
    )
  }
})

test('one that changes its policy in the middle is ended', async t => {
  const threadSettings = { approvalPolicy: 'never', approvalsReviewer: 'user' }
  const { talk } = await stage(t, {
    turn: [{ tell: 'thread/settings/updated', params: { threadSettings } }, { hang: true }],
  })
  assert.match((await talk.until('ended')).failure?.message ?? '', /changed its approval policy/)
})

const unjudged: [string, CodexStep][] = [
  ['a command', { done: { ...command, status: 'completed', exitCode: 0 } }],
  ['a command that failed', { done: { ...command, status: 'failed', exitCode: 1 } }],
  [
    'a patch',
    {
      done: {
        type: 'fileChange',
        id: 'f1',
        status: 'completed',
        changes: [{ path: '/x', kind: { type: 'add' }, diff: 'x' }],
      },
    },
  ],
  [
    "a server's tool",
    { done: { type: 'mcpToolCall', id: 'm1', server: 's', tool: 't', status: 'completed', arguments: {} } },
  ],
  ['a search of the web', { done: { type: 'webSearch', id: 'w1', query: 'x' } }],
  ['a look at an image', { done: { type: 'imageView', id: 'i1', path: '/x' } }],
  ['another agent', { done: { type: 'collabAgentToolCall', id: 'a1', tool: 'spawnAgent', status: 'completed' } }],
  ['something that nobody knows', { done: { type: 'timeTravel', id: 't1', status: 'completed' } }],
  [
    'input to a command',
    { tell: 'item/commandExecution/terminalInteraction', params: { itemId: 'c1', stdin: 'rm x\n' } },
  ],
  [
    'a command of another conversation',
    { tell: 'item/completed', params: { threadId: 'other', item: { ...command, status: 'completed' } } },
  ],
]
for (const [what, step] of unjudged) {
  test(`${what} that ran unasked ends the session, and is named`, async t => {
    const { talk } = await stage(t, { turn: [step, { hang: true }] })
    assert.equal((await talk.turn()).outcome, 'failed')
    const { reason, failure } = await talk.until('ended')
    assert.equal(reason, 'failed')
    assert.match(failure?.message ?? '', /ran without being judged.*(c1|f1|m1|w1|i1|a1|t1)/)
  })
}

test('what was declined, or never began, is no call that ran', async t => {
  const { talk } = await stage(t, {
    turn: [
      { done: { ...command, status: 'declined' } },
      { done: { ...command, id: 'c2', status: 'failed' } },
      { tell: 'item/commandExecution/terminalInteraction', params: { itemId: 'c1', stdin: '' } },
      { say: 'Well.' },
      DONE,
    ],
  })
  assert.equal((await talk.turn()).outcome, 'completed')
})

test('one that dies in the middle of a turn ends it as failed, with what it had said', async t => {
  const { talk } = await stage(t, { turn: [{ say: 'I begin.' }, { exit: 7 }] })
  const ended = await talk.turn()
  assert.deepEqual([ended.outcome, ended.failure?.kind], ['failed', 'agent_crashed'])
  assert.equal(talk.all('text')[0]?.text, 'I begin.')
  assert.equal((await talk.until('ended')).reason, 'crashed')
})

test('one that dies in the middle of an ask calls the ask off', async t => {
  const asked = Promise.withResolvers<AbortSignal>()
  const asks = asking((_request, signal) => {
    asked.resolve(signal)
    return new Promise(() => undefined)
  })
  const ask = { ask: 'item/commandExecution/requestApproval', params: { itemId: 'c1', command: 'x' }, background: true }
  const { talk, heard } = await stage(t, { turn: [ask, { awaitInterrupt: true }, { exit: 1 }] }, { open: { asks } })
  const signal = await asked.promise
  await talk.session.interrupt()
  assert.equal((await talk.turn()).outcome, 'interrupted')
  assert.equal(signal.aborted, true)
  await until(() => heard().some(one => one.method === 'turn/interrupt'))
})

test('an ask that Codex itself calls off is called off here', async t => {
  const asked = Promise.withResolvers<AbortSignal>()
  const asks = asking((_request, signal) => {
    asked.resolve(signal)
    return new Promise(() => undefined)
  })
  const { talk } = await stage(
    t,
    {
      turn: [
        { ask: 'item/commandExecution/requestApproval', params: { itemId: 'c1', command: 'x' }, background: true },
        { tell: 'serverRequest/resolved', params: { requestId: 1 } },
        { awaitInterrupt: true },
        { over: 'interrupted' },
      ],
    },
    { open: { asks } },
  )
  const signal = await asked.promise
  await until(() => signal.aborted)
  await talk.session.interrupt()
  assert.equal((await talk.turn()).outcome, 'interrupted')
})

test('one that goes on after it was told to stop is ended', async t => {
  const { talk, heard } = await stage(t, { turn: [{ say: 'Busy.' }, { hang: true }] }, { driver: { stopMs: 300 } })
  await until(() => heard().some(one => one.method === 'turn/start'))
  await talk.session.interrupt()
  assert.equal((await talk.turn()).outcome, 'interrupted')
  assert.match((await talk.until('ended')).failure?.message ?? '', /was told to stop and went on/)
})

test('a turn that it ends by itself is no success', async t => {
  const { talk } = await stage(t, { turn: [{ say: 'All done.' }, { over: 'interrupted' }] })
  const { outcome, failure } = await talk.turn()
  assert.equal(outcome, 'failed')
  assert.match(failure?.message ?? '', /ended the turn by itself/)
})

test('settings of the person that cannot be read end the session before anything is started', async t => {
  const home = tempDir(t)
  mkdirSync(join(home, '.codex'))
  writeFileSync(join(home, '.codex/config.toml'), 'model = = "x"\n')
  const driver = codexDriver({ command: ['/bin/false'] })
  await using session = await driver.open({
    ...{
      id: 's-000001',
      cwd: home,
      prompt: 'go',
      env: { HOME: home },
      asks: asking(() => ({ park: true, reason: '' })),
    },
    ...{ settingSources: [], isolation: 'marker' },
  })
  for await (const event of session.events)
    if (event.kind === 'ended') assert.match(event.failure?.message ?? '', /its folder .*\.codex cannot be prepared/)
  assert.equal(session.pid, undefined)
})
