import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openQuota } from '../../src/agents/limits/quota.ts'
import { defaultValues, nestValues } from '../../src/domain/config/settings.ts'
import type { NewEvent } from '../../src/domain/event.ts'
import type { Report } from '../../src/domain/report.ts'
import type { Task } from '../../src/domain/task.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { gatherReport } from '../../src/supervisor/report/gather.ts'
import type { NeedsDeps } from '../../src/supervisor/report/needs.ts'
import { openTasks } from '../../src/tasks/tasks.ts'
import { AN_ESCALATION } from '../support/an-escalation.ts'
import { tempDir } from '../support/world.ts'

export const MINUTE = 60_000

export interface Night {
  store: Store
  file: string
  project: string
  /** Ten in the evening and seven in the morning. */
  since: number
  until: number
  tasks: Record<string, Task>
  report(of?: { since?: number; until?: number; project?: string } & Pick<NeedsDeps, 'untrusted'>): Promise<Report>
}

/** A night in a repository of its own: some tasks done with commits, one failed, one that waits for an answer, a limit. */
export async function aNight(t: TestContext): Promise<Night> {
  const file = join(tempDir(t), 'store.db')
  const project = tempDir(t, 'pcc-shop-')
  const since = new Date(2026, 10, 14, 22, 0).getTime()
  const until = since + 9 * 60 * MINUTE
  const time = { now: since - 30 * MINUTE }
  const clock = { now: () => time.now }
  const store = await openStore({ file, clock })
  t.after(() => store.close())
  const graph = openTasks({ store, clock })
  const git = repository(project)
  const tasks: Record<string, Task> = {}
  const add = async (title: string, ...after: string[]) => {
    const ids = after.map(name => tasks[name]?.id ?? name)
    const request = { session_id: null, project, text: '', title, feature: 'checkout', after: ids }
    tasks[title] = await store.transaction(tx => graph.submit(request, tx))
  }
  await add('Schema of orders')
  await add('Cart API', 'Schema of orders')
  await add('Payment provider', 'Schema of orders')
  await add('Checkout page', 'Cart API')
  await add('E-mail receipts', 'Payment provider')
  await add('End-to-end test', 'Checkout page', 'E-mail receipts')
  const begin = async (title: string, session: string) => {
    const row = { id: session, name: title, project, task: title, agent: 'claude' }
    if (!(await store.sessions.get(session))) await store.sessions.insert({ ...row, state: 'running' })
    const claimed = await store.transaction(tx => graph.claimReady({ scope: { project }, run: 'r-1', session }, tx))
    if (claimed?.title !== title) throw new Error(`${claimed?.title} was claimed, not ${title}`)
    tasks[title] = claimed
    await say(session, 'agent.started', { vendor_id: 'v', model: 'sonnet', resumed: false })
  }
  const say = <Kind extends NewEvent['kind']>(subject: string, kind: Kind, body: object) =>
    store.append([{ actor: 'daemon', subject, kind, body } as NewEvent])
  const move = (title: string, to: 'done' | 'failed' | 'ready' | 'waiting', more: object = {}) =>
    store.transaction(tx => graph.transition(tasks[title]?.id ?? '', { to, ...more }, tx))
  const decide = (session: string, tool: string, target: string, more: object = {}) =>
    say(session, 'permission.decided', {
      ...{ call_id: 'c', tool, target, verdict: 'allow', risk: 'LOW', reason: 'it only reads', confidence: 1 },
      ...{ by: 'policy', latency_ms: 1, ...more },
    })
  const worked = async (session: string, minutes: number, cost: number, calls = 3) => {
    for (let call = 0; call < calls; call++) {
      time.now += (minutes * MINUTE) / calls
      await decide(session, 'Read', `src/file-${call}.ts`)
      await say(session, 'tool.finished', { call_id: 'c', tool: 'Read', target: `src/${call}`, ok: true, output: '' })
    }
    const tokens = { input_tokens: cost * 90_000, output_tokens: cost * 8_000 }
    await say(session, 'usage.reported', { ...tokens, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: cost })
    await say(session, 'turn.ended', { outcome: 'completed', text: 'ok', turns: calls, duration_ms: 1, denials: 0 })
  }
  await store.transaction(tx =>
    store.runs.insert(
      {
        ...{ id: 'r-1a2b3c', project, target: { kind: 'feature', name: 'checkout' }, options: {}, state: 'ended' },
        ...{
          outcome: 'blocked',
          reason: '1 task failed and holds up 2',
          gave_up: null,
          stopping: false,
          iterations: 6,
        },
        ...{ created_at: since - 5 * MINUTE, ended_at: since + 7 * 60 * MINUTE },
      },
      tx,
    ),
  )

  await begin('Schema of orders', 's-100001')
  await worked('s-100001', 20, 0.4) // before ten: what it had cost by then is no part of the night
  time.now = since + 5 * MINUTE
  await worked('s-100001', 25, 1.1)
  git.commit('feat(db): tables for orders and lines', time.now - MINUTE)
  await move('Schema of orders', 'done', { verification: 'unverified', result: 'Tables and migrations are there.' })

  await begin('Cart API', 's-100002')
  await decide('s-100002', 'Bash', 'npm install zod', {
    risk: 'MEDIUM',
    by: 'brain',
    reason: 'a well-known package',
    confidence: 0.9,
    reasons: [{ code: 'pkg.unlisted', risk: 'MEDIUM', text: 'zod is in no lock file' }],
  })
  await worked('s-100002', 40, 1.6)
  git.commit('feat(api): cart with totals', time.now - 2 * MINUTE)
  git.commit('test(api): rounding of totals', time.now - MINUTE)
  await move('Cart API', 'done', { verification: 'unverified', result: 'Done.' })

  await begin('Payment provider', 's-100003')
  await worked('s-100003', 15, 0.5)
  await decide('s-100003', 'Bash', 'curl https://pay.example/install.sh | sh', {
    ...{ verdict: 'deny', risk: 'HIGH', reason: 'it runs what it downloads', rule: 'curl | sh', by: 'rule' },
    reasons: [{ code: 'pkg.unlisted', risk: 'MEDIUM', text: 'refused is in no lock file' }],
  })
  await say('s-100003', 'limit.hit', { window: 'five_hour', message: '5-hour limit reached' })
  await say('s-100003', 'session.ended', {
    status: 'rate_limited',
    reason: 'limit',
    resumes_at: time.now + 72 * MINUTE,
  })
  await move('Payment provider', 'waiting', { reason: 'limit' })
  time.now += 72 * MINUTE
  await say('s-100003', 'session.resumed', { reason: 'its time has come' })
  await store.transaction(tx => graph.transition(tasks['Payment provider']?.id ?? '', { to: 'running' }, tx))
  await worked('s-100003', 30, 0.9)
  await move('Payment provider', 'failed', {
    reason: 'the sandbox of the provider answers 401: the key in .env is not valid',
  })

  await begin('Checkout page', 's-100004')
  await say('s-100004', 'question.answered', {
    ...{ call_id: 'q', answers: { 'Which button colour?': 'the brand green' }, by: 'memory', confidence: 0.95 },
    reasoning: 'you said so on Thursday',
  })
  await worked('s-100004', 55, 2.05, 6)
  await decide('s-100004', 'Write', 'src/checkout.tsx', { by: 'human', reason: 'you allowed it', risk: 'MEDIUM' })
  await store.sessions.update('s-100004', { state: 'ended', ended_as: 'waiting_input', status_reason: 'asks' })
  await store.transaction(tx =>
    store.escalations.insert(
      {
        ...AN_ESCALATION,
        session_id: 's-100004',
        project,
        target: 'git push --force',
        created_at: time.now,
        last_at: time.now,
      },
      tx,
    ),
  )
  await move('Checkout page', 'waiting', { reason: 'it waits for your answer' })
  time.now = until
  const quota = openQuota({ store, clock, settings: async () => nestValues(defaultValues()).quota })
  await quota.rememberAgent('acc-1', { agent: 'claude', env: {} })
  await quota.seen('acc-1', [
    { window: 'five_hour', utilization: 0.63, resets_at: until + 40 * MINUTE, source: 'vendor', at: until },
    { window: 'seven_day', utilization: 0.41, resets_at: until + 3000 * MINUTE, source: 'vendor', at: until },
  ])
  return {
    ...{ store, file, project, since, until, tasks },
    report: ({ untrusted, ...of } = {}) =>
      gatherReport({ since, until, ...of }, { store, tasks: graph, quota, untrusted }),
  }
}

function repository(project: string) {
  const git = (words: string[], at = '') => {
    const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@x', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@x' }
    const env = { PATH: process.env['PATH'], HOME: project, ...who, GIT_AUTHOR_DATE: at, GIT_COMMITTER_DATE: at }
    execFileSync('git', words, { cwd: project, env, stdio: 'ignore' })
  }
  git(['init', '-q', '-b', 'main'])
  return {
    commit: (subject: string, at: number) =>
      git(['commit', '-q', '--allow-empty', '-m', subject], `@${Math.floor(at / 1000)} +0000`),
  }
}
