import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openDriver } from '../../../src/agents/open.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { secretId } from '../../../src/base/ids.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { findMarkedPids } from '../../../src/base/process/process-table.ts'
import { claudeAgent } from '../../../src/domain/agents/claude.ts'
import type { OpenSession, Session, SessionEvent } from '../../../src/domain/session.ts'
import { openSimulator } from '../../../src/simulator/open.ts'
import { planSandbox } from '../../../src/workspace/command/plan-sandbox.ts'
import { configWith } from '../../brain/sample.ts'
import { agentEnv, commitAll, gitProject, tempDir } from '../../support/world.ts'
import { ALLOW, asking } from '../conformance/world.ts'

// The next task of a run gets the process of the one before. It must find nothing of that, and say to the model what a fresh process says.

const bash = (command: string) => ({ tools: [{ Bash: { command, description: 'x' } }] })
const PLANTING = [
  { tools: [{ Read: { file_path: '{{cwd}}/unseen.txt' } }] },
  { tools: [{ TodoWrite: { todos: [{ content: 'left-todo', status: 'pending', activeForm: 'x' }] } }] },
  { tools: [{ Agent: { description: 'helps', prompt: 'help-left', subagent_type: 'general-purpose' } }] },
  { tools: [{ mcp__pcc__log: { text: 'left-note' } }] },
  { text: 'Done, left-answer.' },
]
const LOOKING = [
  { tools: [{ Edit: { file_path: '{{cwd}}/unseen.txt', old_string: 'left-file', new_string: 'changed' } }] },
  { tools: [{ Read: { file_path: '{{cwd}}/unseen.txt' } }] },
  { tools: [{ mcp__pcc__log: { text: 'seen' } }] },
  { text: 'Looked.' },
]
/** `config` is the agent's own folder. */
const conversations = (config: string) => [
  { match: 'plant', turns: PLANTING },
  { match: 'help-left', turns: [{ text: 'Helped, left-help.' }] },
  { match: 'look', turns: LOOKING },
  { match: 'use a shell', turns: [bash('echo "[$PWD] [$PCC_ITERATION] [$(umask)]"'), ...LOOKING] },
  {
    match: 'take a note',
    turns: [
      bash('echo evil > "$CLAUDE_CONFIG_DIR/projects/$(pwd | tr -c "a-zA-Z0-9\\n" -)/memory/MEMORY.md"'),
      { text: 'Done.' },
    ],
  },
  {
    match: 'send a helper',
    turns: [
      { tools: [{ Agent: { description: 'helps', prompt: 'run it', subagent_type: 'general-purpose' } }] },
      { text: 'Done.' },
    ],
  },
  { match: 'run it', turns: [bash('echo from-helper'), { text: 'Ran.' }] },
  {
    match: 'leave',
    turns: [{ tools: [{ Write: { file_path: join(config, 'CLAUDE.md'), content: 'left-rule' } }] }, { text: 'Done.' }],
  },
]

async function reuseWorld(t: TestContext) {
  const home = tempDir(t, 'pcc-home-')
  const scenario = { conversations: conversations(join(home, '.claude')) }
  const simulator = await openSimulator({ text: JSON.stringify(scenario) })
  const lines: string[] = []
  const driver = await openDriver(claudeAgent, { log: line => void lines.push(line) })
  t.after(async () => {
    await driver.close()
    await simulator.close()
  })
  const project = gitProject(t, { 'sub/x.txt': 'x\n', 'unseen.txt': 'left-file\n', 'CLAUDE.md': 'old-rules\n' })
  const env = agentEnv(home, simulator.url)
  const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
  const subject = { name: 'Claude Code', asksEveryCall: true, project, worktree: undefined, home, paths }
  const { settings: sandbox } = await planSandbox(configWith({}), subject)
  assert.ok(sandbox)
  const options = (prompt: string, marker: string, more: Partial<OpenSession>): Omit<OpenSession, 'asks'> => ({
    ...{ id: 's-000001', cwd: project, marker, isolation: 'auto', model: 'haiku', prompt },
    ...{ settingSources: ['user', 'project', 'local'], ownTools: ['log'], env: { ...env, PCC_ITERATION: '1' } },
    sandbox,
    ...more,
  })
  const open = async (prompt: string, marker: string, more: Partial<OpenSession> = {}) => {
    const before = simulator.requests.length
    const asks = asking(() => ALLOW)
    const session = await driver.open({ ...options(prompt, marker, more), asks })
    t.after(() => session[Symbol.asyncDispose]())
    const events: SessionEvent[] = []
    for await (const event of session.events) {
      events.push(event)
      if (event.kind === 'turn_ended' || event.kind === 'ended') break
    }
    const requests = simulator.requests.slice(before)
    const bodies = requests.map(({ body, model }) => ({ ...body, model }))
    return { session, asks, events, bodies, told: JSON.stringify(bodies), pid: session.pid, vendorId: session.vendorId }
  }
  return { lines, project, env, open, driver }
}

/** Leaves the process to the next task, or closes the session where that is refused. */
async function release(session: Session): Promise<string | undefined> {
  const why = await session.release?.()
  await session[Symbol.asyncDispose]()
  return why
}

test('nothing of a task reaches the next one in the same process, and the model is told what a fresh process tells it', async t => {
  const { open, project, env, lines, driver } = await reuseWorld(t)
  const marker = secretId(12)
  const planted = await open('plant', marker)
  assert.equal(await release(planted.session), undefined, lines.join('\n'))
  // Somebody else changes the project meanwhile.
  writeFileSync(join(project, 'CLAUDE.md'), 'new-rules\n')
  commitAll(project, 'second')
  const next = { model: 'sonnet', env: { ...env, PCC_ITERATION: '2' } }
  const looked = await open('look', marker, next)
  assert.equal(looked.pid, planted.pid, lines.join('\n'))
  assert.notEqual(looked.vendorId, planted.vendorId)
  assert.equal(await release(looked.session), undefined, lines.join('\n'))
  assert.equal(/left-(?!file|function)\w+/.exec(looked.told)?.[0], undefined)
  assert.ok(looked.told.includes('new-rules') && !looked.told.includes('old-rules'))
  const said = outputsOf(looked.events)
  assert.deepEqual([planted.asks.done.length, looked.asks.done], [1, [['log', { text: 'seen' }]]])
  // The same once more, with a conversation that is cleared while the next session is prepared.
  writeFileSync(join(project, 'unseen.txt'), 'left-file\n')
  driver.clearAhead?.({ marker })
  const again = await open('use a shell', marker, next)
  assert.equal(again.pid, planted.pid, lines.join('\n'))
  assert.ok(new Set([planted.vendorId, looked.vendorId, again.vendorId]).size === 3)
  await again.session[Symbol.asyncDispose]()
  writeFileSync(join(project, 'unseen.txt'), 'left-file\n')
  const fresh = await open('look', secretId(12), next)
  assert.notEqual(fresh.pid, planted.pid)
  assert.deepEqual(outputsOf(fresh.events), said)
  const [shell, ...rest] = outputsOf(again.events)
  assert.deepEqual([shell, rest], [`[${project}] [2] [0022]`, said])
  assert.deepEqual(comparable(looked.bodies), comparable(fresh.bodies))
  assert.deepEqual(
    looked.events.map(({ kind }) => kind),
    fresh.events.map(({ kind }) => kind),
  )
  const [more, less] = [usageOf(looked.events), usageOf(fresh.events)]
  assert.equal(more.turns, less.turns)
  assert.ok(
    more.inputTokens - less.inputTokens < 150 * LOOKING.length,
    'only the record of /clear is counted in addition',
  )
  assert.ok(more.costUsd > 0 && more.costUsd < less.costUsd * 1.1)
})

test('a process that its task may have changed for good is ended, and the next task gets a fresh one', async t => {
  const { open, lines, driver } = await reuseWorld(t)
  const marker = secretId(12)
  const left = await open('leave', marker)
  assert.equal(await left.session.release?.(), undefined)
  assert.equal(await left.session.servesNoOther, false)
  assert.deepEqual(statesOf(marker), ['T'], 'what the task put into it does nothing beside those who check the task')
  driver.clearAhead?.({ marker })
  const next = await open('look', marker)
  assert.notEqual(next.pid, left.pid)
  const why = "the task before has left CLAUDE.md in the agent's own folder"
  assert.ok(
    lines.some(line => line.endsWith(`is not used again: ${why}`)),
    lines.join('\n'),
  )
  assert.equal(next.told.includes('left-rule'), false)
})

test('a task that used a shell is the last of its process, and leaves no note for later conversations', async t => {
  const { open, env } = await reuseWorld(t)
  const noted = await open('take a note', secretId(12))
  assert.match(outputsOf(noted.events).join('\n'), /MEMORY\.md: Read-only file system/)
  assert.equal(await noted.session.servesNoOther, true, 'a next process may be started meanwhile')
  assert.equal(await release(noted.session), 'its task has used Bash')
  assert.deepEqual(globSync('projects/*/memory/*', { cwd: env['CLAUDE_CONFIG_DIR'] ?? '' }), [])
  const helped = await open('send a helper', secretId(12), { isolation: 'namespace', sandbox: undefined })
  assert.match(outputsOf(helped.events).join('\n'), /from-helper/)
  assert.equal(await release(helped.session), 'its task has used Bash', 'without a sandbox, and by a subagent, too')
})

/** What the agents with this marker do: T is stopped. */
function statesOf(marker: string): string[] {
  return findMarkedPids(sessionMarker(marker)).flatMap(pid => {
    const [, name, state] = /^\d+ \((.*)\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? []
    return name === 'claude' ? [state ?? ''] : []
  })
}

function outputsOf(events: SessionEvent[]): string[] {
  return events.flatMap(event => (event.kind === 'tool_result' ? [event.output] : []))
}

/** What a session has spent, with its last event. */
function usageOf(events: SessionEvent[]): Extract<SessionEvent, { kind: 'usage' }> {
  const usage = events.findLast(event => event.kind === 'usage')
  assert.ok(usage)
  return usage
}

/** Without ids, which differ in every conversation, without a hash of the first message, and without the record of `/clear`. */
function comparable(bodies: object[]): unknown {
  const text = JSON.stringify(bodies)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|toolu_sim_[0-9a-f]+/g, '<id>')
    .replaceAll(/(cc_version=[\d.]+)\.\w+;/g, '$1;')
  return JSON.parse(text, (_, value) => (Array.isArray(value) ? value.filter(block => !isRecordOfClear(block)) : value))
}

function isRecordOfClear(block: unknown): boolean {
  const text = (block as { text?: unknown } | null)?.text
  return typeof text === 'string' && /^<(local-command-(caveat|stdout)|command-name)>/.test(text)
}
