import type { Driver, OpenSession } from '../../src/domain/session.ts'

export const TURNS = 40
export const PROMPT = 'make it'

export interface Agent extends AsyncDisposable {
  /** Sends one prompt and waits for the end of its turn. */
  turn(): Promise<void>
}

/** One agent in two forms: through our driver, and on a bare pipe with every call allowed at once. */
export interface Pair {
  name: string
  program: string
  /** The call of every turn, with the agent's own tool name. */
  call: object
  env(home: string, url: string): Record<string, string>
  model?: string
  driver(): Driver
  bare(open: OpenSession): Promise<Agent>
}

/** Every turn is one call that asks for permission, and a short text; one conversation holds all turns. */
export function scenarioOf({ call }: Pair): string {
  const turn = (): object[] => [{ tools: [call] }, { text: 'Made.' }]
  const later = [{ match: PROMPT, turns: Array.from({ length: 2 * TURNS }, turn).flat() }]
  return JSON.stringify({ conversations: [{ match: PROMPT, turns: turn(), later }] })
}

/** The agent through our driver. */
export async function drivenAgent({ driver }: Pair, open: OpenSession): Promise<Agent> {
  const session = await driver().open(open)
  const until = async (wanted: string) => {
    for await (const event of session.events) {
      if (event.kind === wanted) return
      if (event.kind === 'ended') throw new Error(`the agent ended by itself: ${JSON.stringify(event)}`)
    }
  }
  // Some agents send their introduction with their first turn.
  if (open.prompt === undefined) await until('started')
  return {
    async turn() {
      await session.prompt(PROMPT)
      await until('turn_ended')
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  }
}
