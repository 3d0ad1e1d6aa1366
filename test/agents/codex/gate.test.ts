import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALLOW, allowing, asking, DENY } from '../conformance/world.ts'
import type { CodexStep } from './scripted-codex.ts'
import { stage } from './stage.ts'

const DONE: CodexStep = { over: 'completed' }
const COMMAND = 'item/commandExecution/requestApproval'
const CHANGE = 'item/fileChange/requestApproval'

function change(id: string, changes: unknown[]): CodexStep {
  return { begun: { type: 'fileChange', id, status: 'inProgress', changes } }
}

test('a yes is for this one call, whatever else is offered', async t => {
  const asks = allowing()
  const availableDecisions = ['acceptForSession', { acceptWithExecpolicyAmendment: {} }, 'accept']
  const { talk, replies, cwd } = await stage(
    t,
    {
      turn: [
        {
          ask: COMMAND,
          params: { itemId: 'c1', command: "/bin/bash -lc 'ls -l'", cwd: '/elsewhere', availableDecisions },
        },
        change('f1', [
          { path: '/a/new', kind: { type: 'add' }, diff: 'text\n' },
          {
            path: '/a/old',
            kind: { type: 'update', move_path: '/b/moved' },
            diff: '@@ -1,2 +1,2 @@\n same\n-one\n+two\n',
          },
          { path: "/a/it's", kind: { type: 'delete' }, diff: '' },
        ]),
        { ask: CHANGE, params: { itemId: 'f1' } },
        DONE,
      ],
    },
    { open: { asks } },
  )
  await talk.turn()
  assert.deepEqual(
    replies().map(one => one.result),
    [{ decision: 'accept' }, { decision: 'accept' }],
  )
  assert.deepEqual(
    asks.requests.map(({ callId, tool, input, cwd: where }) => [callId, tool, input, where]),
    [
      ['c1', 'Bash', { command: 'ls -l' }, '/elsewhere'],
      ['f1', 'Write', { file_path: '/a/new', content: 'text\n' }, cwd],
      ['f1', 'Edit', { file_path: '/a/old', old_string: 'same\none', new_string: 'same\ntwo' }, cwd],
      ['f1', 'Write', { file_path: '/b/moved', content: 'same\ntwo' }, cwd],
      ['f1', 'Bash', { command: 'mv -- /a/old /b/moved' }, cwd],
      ['f1', 'Bash', { command: "rm -- '/a/it'\\''s'" }, cwd],
    ],
  )
})

test('one no to a patch of many files is a no to all of it', async t => {
  const asks = asking(({ input }) => (input['file_path'] === '/b' ? DENY : { ...DENY, verdict: 'allow' }))
  const added = ['/a', '/b', '/c'].map(path => ({ path, kind: { type: 'add' }, diff: '' }))
  const { talk, replies } = await stage(
    t,
    { turn: [change('f1', added), { ask: CHANGE, params: { itemId: 'f1' } }, DONE] },
    { open: { asks } },
  )
  assert.equal((await talk.turn()).denials, 1)
  assert.deepEqual(replies()[0]?.result, { decision: 'decline' })
  assert.equal(asks.requests.length, 2)
})

test('what cannot be understood, is not ours, or wants more than this call, is refused unasked', async t => {
  const asks = allowing()
  const added = [{ path: '/a', kind: { type: 'add' }, diff: '' }]
  const { talk, replies } = await stage(
    t,
    {
      turn: [
        { ask: COMMAND, params: { itemId: 'c1', threadId: 'another', command: 'ls' } },
        { ask: COMMAND, params: { command: 'ls' } },
        { ask: CHANGE, params: { itemId: 'never told' } },
        change('f1', added),
        { ask: CHANGE, params: { itemId: 'f1', grantRoot: '/' } },
        { ask: CHANGE, params: { itemId: 'f1', threadId: 'another' } },
        {
          ask: 'item/permissions/requestApproval',
          params: { itemId: 'p1', permissions: { network: { enabled: true } } },
        },
        { ask: 'execCommandApproval', params: { command: ['ls'] } },
        { ask: 'applyPatchApproval', params: {} },
        { ask: 'mcpServer/elicitation/request', params: { serverName: 's', message: 'Your password?', mode: 'form' } },
        { ask: 'item/tool/call', params: { callId: 'o1', namespace: 'pcc', tool: 'log', arguments: {} } },
        { ask: 'account/chatgptAuthTokens/refresh', params: {} },
        DONE,
      ],
    },
    { open: { asks } },
  )
  assert.equal((await talk.turn()).outcome, 'completed')
  assert.deepEqual(asks.requests, [])
  const no = { decision: 'decline' }
  assert.deepEqual(
    replies().map(one => one.result ?? one.error?.code),
    [
      ...[no, no, no, no, no],
      { permissions: {}, scope: 'turn' },
      { decision: 'denied' },
      { decision: 'denied' },
      { action: 'decline', content: null, _meta: null },
      { contentItems: [{ type: 'inputText', text: 'There is no such tool here.' }], success: false },
      -32601,
    ],
  )
})

test('what does more than a command, or nobody can tell, is judged as the worst it could be', async t => {
  const asks = asking(() => DENY)
  const { talk } = await stage(
    t,
    {
      turn: [
        { ask: COMMAND, params: { itemId: 'c1', kind: 'writeStdin', command: 'write_stdin x' } },
        { ask: COMMAND, params: { itemId: 'c2', command: 'ls', networkApprovalContext: { host: 'a.b' } } },
        { ask: COMMAND, params: { itemId: 'c3', command: 'ls', additionalPermissions: { network: {} } } },
        { ask: COMMAND, params: { itemId: 'c4' } },
        { ask: COMMAND, params: { itemId: 'c5', command: "/bin/bash -lc 'ls'", reason: 'it needs the network' } },
        change('f1', [{ path: '/a', kind: { type: 'link' }, diff: '' }]),
        { ask: CHANGE, params: { itemId: 'f1' } },
        DONE,
      ],
    },
    { open: { asks } },
  )
  assert.equal((await talk.turn()).denials, 6)
  assert.deepEqual(
    asks.requests.map(({ tool, input }) => [tool, input['dangerouslyDisableSandbox'] ?? false]),
    [
      ['unknown:execute:writeStdin', false],
      ['unknown:execute:permissions', false],
      ['unknown:execute:permissions', false],
      ['unknown:execute:command', false],
      ['Bash', true],
      ['unknown:execute:link', false],
    ],
  )
})

test("a server's tool is asked under its name, with what it is given, and never for good", async t => {
  const asks = allowing()
  const begun = {
    type: 'mcpToolCall',
    id: 'm1',
    server: 'db',
    tool: 'drop',
    status: 'inProgress',
    arguments: { t: 'x' },
  }
  const ask = (tool: string) => ({
    ask: 'mcpServer/elicitation/request',
    params: {
      ...{ serverName: 'db', mode: 'form', message: `Allow the db MCP server to run tool "${tool}"?` },
      _meta: { codex_approval_kind: 'mcp_tool_call', persist: ['session', 'always'], tool_params: { t: 'x' } },
    },
  })
  const done = { ...begun, status: 'completed', result: {} }
  const { talk, replies } = await stage(
    t,
    { turn: [{ begun }, ask('other'), ask('drop'), { done }, DONE] },
    { open: { asks } },
  )
  assert.equal((await talk.turn()).outcome, 'completed')
  assert.deepEqual(
    asks.requests.map(({ callId, tool, input }) => [callId, tool, input]),
    [['m1', 'mcp__db__drop', { t: 'x' }]],
  )
  assert.deepEqual(
    replies().map(one => one.result),
    [
      { action: 'decline', content: null, _meta: null },
      { action: 'accept', content: {}, _meta: null },
    ],
  )
})

test('why a call was refused is said before the refusal, so that the model hears both at once', async t => {
  const { talk, heard } = await stage(
    t,
    { turn: [{ ask: COMMAND, params: { itemId: 'c1', command: "/bin/bash -lc 'rm x'" } }, DONE] },
    { open: { asks: asking(() => DENY) } },
  )
  await talk.turn()
  const order = heard().flatMap(one => one.method ?? (one.result?.['decision'] ? [String(one.result['decision'])] : []))
  assert.deepEqual(order.slice(-2), ['turn/steer', 'decline'])
  const steered = heard().find(one => one.method === 'turn/steer')
  assert.match(JSON.stringify(steered?.params), /Bash .*rm x.* was refused: not on my watch/)
})

test('a call that waits for a person does not keep one that was allowed from its end: after a while it is refused', async t => {
  const done = { type: 'commandExecution', id: 'c1', command: "/bin/bash -lc 'make'", status: 'completed', exitCode: 0 }
  const { talk, replies } = await stage(
    t,
    {
      turn: [
        { ask: COMMAND, params: { itemId: 'c1', command: "/bin/bash -lc 'make'" }, background: true },
        // Seen with Codex: an allowed call begins only when this ask is answered.
        { ask: COMMAND, params: { itemId: 'c2', command: "/bin/bash -lc 'deploy'" } },
        { done },
        { awaitInterrupt: true },
        { over: 'interrupted' },
      ],
    },
    {
      driver: { stopMs: 1000 },
      open: { asks: asking(({ callId }) => (callId === 'c2' ? { park: true, reason: 'Ann' } : ALLOW)) },
    },
  )
  const { outcome, parked } = await talk.turn()
  assert.deepEqual([outcome, parked?.callId], ['parked', 'c2'])
  assert.deepEqual(
    replies().map(({ result }) => result?.['decision']),
    ['accept', 'decline'],
  )
})
