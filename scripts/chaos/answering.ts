import { basename } from 'node:path'
import type { History, Injected } from './history.ts'
import type { RoundPlan } from './plan/plan-round.ts'
import { answerFor } from './plan/scenario.ts'
import type { DaemonKeeper } from './world/daemon-keeper.ts'
import type { RoundWorld } from './world/open-world.ts'

/** A decision that waits for a person. */
export interface Open {
  number: number
  kind: string
  input: string
  project: string
}

/** What a person needs to answer. */
export interface AtDesk {
  world: RoundWorld
  keeper: DaemonKeeper
  plan: RoundPlan
  /** What the person does to the daemon is noted as other faults are. */
  faults: Injected[]
  waits: History['waits']
}

/** Whoever has not been told after so long, with a daemon at work on a busy machine, never will be: a burst is gathered for 15 s. */
export const TOLD_MS = 20_000

/** The person of a round: answers at once, or late and maybe after the daemon was ended, as its plan says. */
export class Person {
  readonly #desk: AtDesk
  /** Since when each decision is seen to be open. */
  readonly #since = new Map<number, number>()
  #restarts: number

  constructor(desk: AtDesk) {
    this.#desk = desk
    this.#restarts = desk.plan.answers?.restarts ?? 0
  }

  /** Looks at what is open now and answers what it is time for. */
  async look(open: Open[]): Promise<void> {
    const numbers = new Set(open.map(({ number }) => number))
    for (const number of this.#since.keys()) if (!numbers.has(number)) this.#since.delete(number)
    for (const each of open) {
      const since = this.#since.get(each.number) ?? Date.now()
      this.#since.set(each.number, since)
      if (!this.#isTime(each, since)) continue
      if (this.#restarts > 0 && each.kind === 'question') await this.#restart()
      else await this.#answer(each)
    }
  }

  #isTime({ number, kind }: Open, since: number): boolean {
    const { plan, world, keeper } = this.#desk
    if (!plan.answers || kind !== 'question') return true
    const told = world.notices.messages.find(
      ({ at, title, text }) => at >= since && `${title}\n${text}`.includes(`(decision ${number})`),
    )
    const served = Date.now() - Math.max(since, keeper.boots.at(-1)?.readyAt ?? Date.now())
    return told ? Date.now() - told.at >= plan.answers.lateMs : served > TOLD_MS
  }

  /** Whoever waits for an answer waits on while the daemon is ended, as often as it is to be. */
  async #restart(): Promise<void> {
    const { keeper, faults } = this.#desk
    const kind = this.#restarts-- % 2 === 0 ? 'kill-daemon' : 'stop-clean'
    const at = Date.now()
    const hit = keeper.alive
    await keeper.kill(kind === 'kill-daemon' ? 'SIGKILL' : 'SIGTERM')
    faults.push({ kind, at, until: Date.now(), hit })
  }

  /** As at `pcc respond`: a question gets its answer, a failure is tried again. */
  async #answer({ number, kind, input, project }: Open): Promise<void> {
    const { world, keeper, plan, waits } = this.#desk
    const session = [...plan.sessions, ...(plan.run ? [plan.run] : [])].find(({ name }) => name === basename(project))
    if (!session) return
    const token = /Which hue for ([\w-]+)\?/.exec(input)?.[1] ?? ''
    const said = kind === 'question' ? { answer: answerFor(token) } : { verdict: kind === 'error' ? 'allow' : 'deny' }
    waits.push({ number, isLate: plan.answers !== undefined && kind === 'question' })
    const env = world.agentEnvOf(session)
    await keeper.call('POST', `/escalations/${number}/answer`, { ...said, env }).catch(() => undefined) // asked again at the next look
  }
}
