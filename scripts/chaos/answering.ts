import { basename } from 'node:path'
import type { DaemonRunner } from './fixture/daemon-runner.ts'
import type { RoundFixture } from './fixture/open-fixture.ts'
import type { History, Injected } from './history.ts'
import type { RoundPlan } from './plan/plan-round.ts'
import { answerFor } from './plan/scenario.ts'

/** A decision that waits for a person. */
export interface Open {
  number: number
  kind: string
  input: string
  project: string
}

/** What the simulated person needs to answer. */
export interface PersonDeps {
  fixture: RoundFixture
  runner: DaemonRunner
  plan: RoundPlan
  /** What the person does to the daemon is recorded like other faults. */
  faults: Injected[]
  waits: History['waits']
  complaints: string[]
}

/** If no notice came within this time from a running daemon on a busy machine, none will come; bursts are collected for 15 s. */
export const TOLD_MS = 20_000

/** So many failures of one project that "again" mends; more mean that something fails each time. */
const MOST_FAILURES = 20

/** The simulated person of a round. Answers at once, or late and possibly after the daemon was ended, as planned. */
export class Person {
  readonly #deps: PersonDeps
  /** Since when each decision has been open. */
  readonly #since = new Map<number, number>()
  #restarts: number
  /** How many failures of each project were answered. */
  readonly #failures = new Map<string, number>()

  constructor(deps: PersonDeps) {
    this.#deps = deps
    this.#restarts = deps.plan.answers?.restarts ?? 0
  }

  /** Checks the open decisions and answers those that are due. */
  async look(open: Open[]): Promise<void> {
    const numbers = new Set(open.map(({ number }) => number))
    for (const number of this.#since.keys()) if (!numbers.has(number)) this.#since.delete(number)
    for (const decision of open) {
      const since = this.#since.get(decision.number) ?? Date.now()
      this.#since.set(decision.number, since)
      if (!this.#isTime(decision, since)) continue
      if (this.#restarts > 0 && decision.kind === 'question') await this.#restart()
      else await this.#answer(decision)
    }
  }

  #isTime({ number, kind }: Open, since: number): boolean {
    const { plan, fixture, runner } = this.#deps
    if (!plan.answers || kind !== 'question') return true
    const notice = fixture.notices.messages.find(
      ({ at, title, text }) => at >= since && `${title}\n${text}`.includes(`(decision ${number})`),
    )
    const served = Date.now() - Math.max(since, runner.boots.at(-1)?.readyAt ?? Date.now())
    return notice ? Date.now() - notice.at >= plan.answers.lateMs : served > TOLD_MS
  }

  /** Ends the daemon while the question stays open, as often as planned. */
  async #restart(): Promise<void> {
    const { runner, faults } = this.#deps
    const kind = this.#restarts-- % 2 === 0 ? 'kill-daemon' : 'stop-clean'
    const at = Date.now()
    const hit = runner.alive
    await runner.kill(kind === 'kill-daemon' ? 'SIGKILL' : 'SIGTERM')
    faults.push({ kind, at, until: Date.now(), hit })
  }

  /** Like `pcc respond`: a question gets its answer, and a failure is retried. */
  async #answer({ number, kind, input, project }: Open): Promise<void> {
    const { fixture, runner, plan, waits } = this.#deps
    const session = [...plan.sessions, ...(plan.run ? [plan.run] : [])].find(({ name }) => name === basename(project))
    if (!session) return
    if (kind === 'error' && !this.#maySayAgain(session.name, input)) return
    const token = /Which hue for ([\w-]+)\?/.exec(input)?.[1] ?? ''
    const reply = kind === 'question' ? { answer: answerFor(token) } : { verdict: kind === 'error' ? 'allow' : 'deny' }
    waits.push({ number, isLate: plan.answers !== undefined && kind === 'question' })
    const env = fixture.agentEnvOf(session)
    await runner.call('POST', `/escalations/${number}/answer`, { ...reply, env }).catch(() => undefined) // tried again at the next check
  }

  #maySayAgain(name: string, failure: string): boolean {
    const answered = (this.#failures.get(name) ?? 0) + 1
    this.#failures.set(name, answered)
    if (answered === MOST_FAILURES + 1) this.#deps.complaints.push(`${name} fails each time: ${failure.slice(0, 300)}`)
    return answered <= MOST_FAILURES
  }
}
