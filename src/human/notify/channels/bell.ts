import type { Channel } from '../notice.ts'

/** Rings at every terminal that shows a session. Where nobody is, nobody hears it, and that is no failure. */
export function bellChannel(ring: (text: string) => Promise<void>): Channel {
  return {
    name: 'bell',
    send: async ({ title }) => {
      try {
        await ring(title)
        return { ok: true }
      } catch (error) {
        return { ok: false, problem: String(error) }
      }
    },
  }
}
