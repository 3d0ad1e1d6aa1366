import { execFileSync } from 'node:child_process'
import { after, describe, type TestContext } from 'node:test'
import type { Asks, OpenSession } from '../../../src/domain/session.ts'
import { bareEnv, type Ending } from '../../support/world.ts'
import type { Adapter } from './adapter.ts'
import type { Script } from './script.ts'
import { allowing, Talk, World, type WorldOptions } from './world.ts'

/** The first prompt of every live session. No script of a point matches it. */
const GREETING = 'Good morning.'

export interface LiveOptions extends WorldOptions {
  /** The options of its sessions. */
  open?: Partial<OpenSession>
  /** Extra variables of their environment. */
  env?: Record<string, string>
}

/** A live session for one point: the project is clean, and the model knows only the scripts of this point. */
export interface Stage {
  world: World
  /** The events until the greeting was answered. */
  greeted: Talk
  /** Sends a prompt to the live session, whose asks go to these from now on; reads what follows. */
  say(prompt: string, asks?: Asks): Promise<Talk>
  /** Replaces the model by one that plays these scripts. */
  restart(scripts: Script[]): Promise<void>
}

/**
 * One running agent on which points are checked one after the other, each with a turn of its own, because a start costs seconds. A point
 * may end the session, or break it; the next point then starts another.
 */
export class Live {
  readonly adapter: Adapter
  readonly #options: LiveOptions
  #stack = new AsyncDisposableStack()
  #world: World | undefined
  #greeted: Talk | undefined
  #latest: Talk | undefined
  #asks: Asks = allowing()

  constructor(adapter: Adapter, options: LiveOptions) {
    this.adapter = adapter
    this.#options = options
  }

  async enter(t: TestContext, scripts: Script[]): Promise<Stage> {
    const { world, greeted } = this.#ready() ?? (await this.#start())
    const restart: Stage['restart'] = played => world.model.restart(inConversation(played))
    await restart(scripts)
    execFileSync('git', ['clean', '-fdxq'], { cwd: world.cwd, env: bareEnv(world.home), stdio: 'pipe' })
    const say: Stage['say'] = async (prompt, asks = allowing()) => {
      this.#asks = asks
      await greeted.session.prompt(prompt)
      this.#latest = new Talk(greeted.session, greeted.marker)
      return this.#latest
    }
    return { world: world.within(t), greeted, say, restart }
  }

  async close(): Promise<void> {
    const stack = this.#stack
    this.#stack = new AsyncDisposableStack()
    this.#world = undefined
    await stack.disposeAsync()
  }

  /** A session is ready when its turn is over and the session is not. */
  #ready() {
    const isIdle = this.#latest?.seen.at(-1)?.kind === 'turn_ended'
    return isIdle && this.#world && this.#greeted ? { world: this.#world, greeted: this.#greeted } : undefined
  }

  async #start() {
    // The point that broke it has failed already: the way it ends must not fail the next point.
    await this.close().catch(() => undefined)
    const ending: Ending = { after: end => this.#stack.defer(end as () => void) }
    const world = await World.open(ending, this.adapter, inConversation([]), this.#options)
    const asks: Asks = {
      permission: (...asked) => this.#asks.permission(...asked),
      question: (...asked) => this.#asks.question(...asked),
      tool: async (...called) => (await this.#asks.tool?.(...called)) ?? { ok: false, text: 'there is none' },
    }
    const env = { ...world.options().env, ...this.#options.env }
    const options = world.options({ ...this.#options.open, prompt: GREETING, asks, env })
    const greeted = new Talk(await world.driver.open(options), options.marker)
    this.#stack.defer(() => this.#latest?.close())
    this.#latest = greeted
    await greeted.turn()
    this.#world = world
    this.#greeted = greeted
    return { world, greeted }
  }
}

/** A suite whose tests share a live session, one after the other. */
export function liveSuite(adapter: Adapter, title: string, options: LiveOptions, points: (live: Live) => void): void {
  describe(title, { concurrency: 1 }, () => {
    const live = new Live(adapter, options)
    after(() => live.close())
    points(live)
  })
}

/** Scripts that begin a conversation elsewhere come as later prompts here, after the greeting. A subagent still has a conversation of its own. */
function inConversation(scripts: Script[]): Script[] {
  const later = scripts.flatMap(({ prompt, steps, later = [] }) => [...later, { prompt, steps }])
  return [...scripts, { prompt: GREETING, steps: [{ say: 'Good morning.' }], later }]
}
