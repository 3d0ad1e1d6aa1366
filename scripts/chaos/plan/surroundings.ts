import type { FaultPlan } from './plan-round.ts'
import { randomFrom } from './random.ts'
import type { SessionPlan } from './session-plan.ts'

/**
 * In about every eighth round the vendor refuses the login of a session in the middle of its first task, until the person has
 * logged in again. Adds the step to the session.
 */
export function planLogin(seed: number, sessions: SessionPlan[]): FaultPlan[] {
  const random = randomFrom(seed ^ 0x3c6ef372)
  if (!random.chance(0.13)) return []
  const place = sessions.findIndex(({ account }) => account === 'shared')
  const [task] = sessions[place]?.tasks ?? []
  if (!task) return []
  task.steps.splice(random.int(0, task.steps.length), 0, { do: 'login', token: `${task.token}-login` })
  return [{ kind: 'login-gone', atMs: 0, forMs: random.int(500, 2_500), session: place }]
}

/**
 * In about every eighth round there is a session whose vendor refuses, by a limit or an outage, and a second agent that takes
 * over its task. Adds that session. It alone then has the account `limited`, so that closing the account does not hand over others.
 */
export function planFailover(seed: number, sessions: SessionPlan[], faults: readonly FaultPlan[]): FaultPlan[] {
  const random = randomFrom(seed ^ 0x6a09e667)
  if (!random.chance(0.2)) return []
  if (sessions.some(meetsLimit) || faults.some(({ kind }) => kind === 'clock-jump')) return []
  const name = `s${sessions.length + 1}`
  const token = `${name}-t1`
  const work = (step: string) => ({
    do: 'work' as const,
    token: `${token}-${step}`,
    ms: random.int(50, 700),
    leaves: false,
  })
  const refusal = random.chance(0.5) ? ('limit' as const) : ('outage' as const)
  const task = {
    token,
    steps: [work('c1'), { do: refusal, token: `${token}-${refusal}` }, work('c2')],
    second: [work('f1'), work('f2')],
  }
  for (const session of sessions) session.account = 'shared'
  sessions.push({ name, account: 'limited', record: false, tasks: [task] })
  return [{ kind: 'failover', atMs: 0, forMs: 0, session: sessions.length - 1 }]
}

function meetsLimit({ tasks }: SessionPlan): boolean {
  return tasks.some(({ steps }) => steps.some(step => step.do === 'limit'))
}
