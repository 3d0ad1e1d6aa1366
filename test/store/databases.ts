import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { EventOf, NewEvent, StoredEvent } from '../../src/domain/event.ts'
import { type OpenStore, openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { tempDir } from '../support/world.ts'

/** Every database on which the store runs. Behaviour is tested on all of them; features of a single one have their own tests. */
export const DATABASES: { name: string; open(t: TestContext, options?: Partial<OpenStore>): Promise<Store> }[] = [
  {
    name: 'SQLite',
    async open(t, options) {
      const store = await openStore({ file: join(tempDir(t), 'store.db'), ...options })
      t.after(() => store.close())
      return store
    },
  },
]

/** The smallest event: only its text matters. */
export function note(text: string, subject = 's-1'): NewEvent {
  return { actor: 'daemon', subject, kind: 'session.noted', body: { text } }
}

export function textOf(event: StoredEvent): string {
  return (event as EventOf<'session.noted'>).body.text
}

/** Reads from a follower until the event with this text. */
export async function takeUntil(events: AsyncIterable<StoredEvent>, text: string): Promise<StoredEvent[]> {
  const taken: StoredEvent[] = []
  for await (const event of events) {
    taken.push(event)
    if (event.kind === 'session.noted' && event.body.text === text) break
  }
  return taken
}

/** 1, 2, 3 … as long as asked. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}
