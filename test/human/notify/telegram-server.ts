import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { type Got, type Receiver, receiver } from './notify-harness.ts'

export interface TelegramServer {
  url: string
  /** Adds an update: somebody does something in a chat. */
  happen(update: Record<string, unknown>): void
  /** The body of the nth call of a method. */
  // biome-ignore lint/suspicious/noExplicitAny: a test knows the shape it asks for
  called(method: string, count?: number): Promise<any>
  /** How often a method was called. */
  count(method: string): number
}

/** A bot API on loopback: keeps updates until a higher offset acknowledges them, and holds polls open while there are none. */
export async function telegramServer(t: TestContext): Promise<TelegramServer> {
  const pending: { update_id: number }[] = []
  let held: { offset: number; response: ServerResponse } | undefined
  let id = 100
  const give = () => {
    if (!held) return
    const { offset, response } = held
    const left = pending.filter(({ update_id }) => update_id >= offset)
    if (left.length === 0) return
    held = undefined
    response.end(JSON.stringify({ ok: true, result: left }))
  }
  const server: Receiver = await receiver(t, ({ path, body }: Got, response) => {
    if (!path.endsWith('/getUpdates')) {
      response.end('{"ok":true,"result":{}}')
      return
    }
    held = { offset: body.offset, response }
    give()
  })
  return {
    url: server.url,
    happen(update) {
      pending.push({ update_id: id++, ...update })
      give()
    },
    async called(method, count = 1) {
      let left = count
      for (let n = 1; ; n++) {
        const got = await server.nth(n)
        if (got.path.endsWith(`/${method}`) && --left === 0) return got.body
      }
    },
    count: method => server.got.filter(({ path }) => path.endsWith(`/${method}`)).length,
  }
}
