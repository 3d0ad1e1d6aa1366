import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Request, Verdict } from '../../../src/domain/session.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import type { Decision } from '../../../src/policy/verdict/decide.ts'
import { loadRules } from '../../../src/policy/verdict/load-rules.ts'
import { openStore } from '../../../src/store/open.ts'
import type { SessionDeps } from '../../../src/supervisor/session/context.ts'
import { judgeRequest, parkPermission, refusalRow } from '../../../src/supervisor/session/judge.ts'
import { tempDir } from '../../support/world.ts'
import { aLiveSession, type LiveMembers } from './live-session.ts'
import { sessionDepsOn } from './session-deps.ts'

/** The decision on one command in a live session, with the real store and classifier except for `change`. */
async function judged(
  t: TestContext,
  command: string,
  change: { live?: LiveMembers; policy?: Partial<SessionDeps['policy']> },
) {
  using classifier = openClassifier()
  await using store = await openStore({ file: join(tempDir(t), 'a.db') })
  const policy = { classify: classifier.classify, loadRules, ...change.policy }
  const deps = sessionDepsOn(store, { policy })
  const request = { callId: 'c', tool: 'Bash', input: { command }, cwd: '/p' }
  const { decision } = await judgeRequest(request, AbortSignal.timeout(5_000), {
    live: aLiveSession({}, change.live),
    deps,
  })
  return decision
}

function fail(): never {
  throw new Error('broken')
}

test('any failure while a request is judged is a refusal, however harmless the request', async t => {
  assert.equal((await judged(t, 'ls', {})).verdict, 'allow')
  const broken = [
    { policy: { classify: fail } },
    { policy: { classify: async () => fail() } },
    { live: { policy: { ...aLiveSession().settings.policy, rules: async () => fail() } } },
  ]
  for (const change of broken) {
    const { verdict, risk, by, reason } = await judged(t, 'ls', change)
    assert.deepEqual([verdict, risk, by], ['deny', 'HIGH', 'policy'])
    assert.match(reason, /go on another way/)
  }
})

test('the brain does not decide about HIGH, and --allowed-tools decides only about that very command', async t => {
  const allowed = { policy: { ...aLiveSession().settings.policy, allowedTools: ['Bash(rm x)'] } }
  assert.equal((await judged(t, 'rm x', {})).verdict, 'deny')
  assert.equal((await judged(t, 'rm x', { live: allowed })).rule, '--allowed-tools Bash(rm x)')
  assert.equal((await judged(t, 'rm y', { live: allowed })).verdict, 'deny')
})

test('what stays in a sandbox is allowed only while the process itself says that it runs in one', async t => {
  const planned = { made: { program: '/usr/bin/bwrap', version: '1' } }
  const open = { ...aLiveSession().settings.open, sandbox: planned } as LiveMembers['open']
  const walled = (value: boolean | undefined) => ({ session: { walled: value } }) as unknown as LiveMembers
  assert.equal((await judged(t, 'rm -rf dist', { live: walled(true) })).verdict, 'allow')
  for (const live of [walled(false), walled(undefined), {}, { open }, { open, ...walled(false) }] as LiveMembers[])
    assert.equal((await judged(t, 'rm -rf dist', { live })).verdict, 'deny', JSON.stringify(live))
})

const REQUEST: Request = { callId: 'c-1', tool: 'Bash', input: { command: 'rm x' }, cwd: '/p' }
const HIGH = { risk: 'HIGH', confidence: 1 } as const
const REASONS = [{ code: 'file.delete', risk: 'HIGH', text: 'rm deletes' } as const]
const ASSESSMENT = { risk: 'HIGH' as const, reasons: REASONS, pieces: [], normalised: 'Bash rm x' }
const BY_POLICY: Verdict = { ...HIGH, verdict: 'deny', reason: 'rm deletes; leave it', by: 'policy' }
const BY_NOBODY: Verdict = { ...BY_POLICY, by: 'nobody' }
const ASKED: Decision = { ...BY_POLICY, verdict: 'ask' }

function rowFor(verdict: Verdict, decision: Decision, signal = new AbortController().signal) {
  return refusalRow(
    { request: REQUEST, judgement: { assessment: ASSESSMENT, decision }, verdict, signal },
    aLiveSession(),
  )
}

test('a call that was refused because nobody was there is listed with what it is and why', () => {
  const expected = {
    kind: 'permission',
    session_id: 's-000001',
    project: '/p',
    task: 't',
    task_id: null,
    spelling: undefined,
    bound: null,
    call_id: 'c-1',
    tool: 'Bash',
    target: 'rm x',
    input: { command: 'rm x' },
    risk: 'HIGH',
    reason: 'rm deletes',
    reasons: REASONS,
    normalised: 'Bash rm x',
    state: 'denied',
  }
  assert.deepEqual(rowFor(BY_POLICY, { ...BY_POLICY, morning: true }), expected)
  assert.deepEqual(rowFor(BY_NOBODY, ASKED), expected)
})

test('whoever is asked about a path that the sandbox hides learns that a yes does not reach it, and what does', async () => {
  using classifier = openClassifier()
  const sandbox = { mode: 'required', network: [], read: [], write: ['~/shared'], hidden: [] }
  const { policy, open } = aLiveSession().settings
  const members = { policy: { ...policy, home: '/home/ada' }, open: { ...open, sandbox } }
  const told = async (input: Record<string, unknown>, { walled = true, tool = 'Bash' } = {}) => {
    const live = aLiveSession({}, { ...members, session: { walled } } as unknown as LiveMembers)
    const request = { ...REQUEST, tool, input }
    const { project, home, safeDirectories } = live.settings.policy
    const wanted = { tool, input, cwd: '/p', project, home, safeDirectories, ownServers: [], secrets: [] }
    const assessment = await classifier.classify({ ...wanted, worktree: undefined })
    const decision = { ...ASKED, reason: 'because' }
    parkPermission({ request, decision, assessment, suggestion: undefined, askId: 'a-1' }, live)
    const { parked, escalation } = live.agent.parking.get(REQUEST.callId) ?? {}
    assert.equal(escalation?.reason, parked && 'reason' in parked && parked.reason)
    return escalation?.reason
  }
  const warning = (path: string) =>
    `the sandbox hides ${path} of this machine, so a yes does not reach it: do it yourself, or name its folder in agents.sandbox_write; because`
  assert.equal(await told({ command: 'rm -rf $HOME/old-cache' }), warning('/home/ada/old-cache'))
  assert.equal(await told({ command: 'cd sub && rm -rf ~/old-cache' }), warning('/home/ada/old-cache'))
  assert.equal(await told({ command: 'echo x > ~/notes' }), warning('/home/ada/notes'))
  assert.equal(await told({ command: 'cp a /tmp/b' }), warning('/tmp/b'))
  assert.equal(await told({ file_path: '/home/ada/notes' }, { tool: 'Write' }), warning('/home/ada/notes'))
  for (const command of ['rm -rf dist', 'rm -rf /p/dist', 'rm -rf ~/shared/x', 'rm -rf /opt/x', '/tmp/tool --run'])
    assert.equal(await told({ command }), 'because', command)
  assert.equal(await told({ command: 'rm -rf ~/old-cache' }, { walled: false }), 'because', 'there it is reached')
})

test('a call that a rule or a person refused, an allowed call and a withdrawn call are not listed', () => {
  const ruled: Decision = { ...BY_POLICY, by: 'rule', rule: 'deny Bash rm *' }
  assert.equal(rowFor({ ...BY_POLICY, by: 'rule' }, ruled), undefined)
  assert.equal(rowFor({ ...BY_POLICY, by: 'human' }, ASKED), undefined)
  assert.equal(rowFor({ ...BY_POLICY, verdict: 'allow', by: 'human' }, ASKED), undefined)
  assert.equal(rowFor(BY_NOBODY, ASKED, AbortSignal.abort()), undefined)
})
