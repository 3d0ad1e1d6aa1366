import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openQuota, type QuotaBook, type QuotaSettings } from '../../../src/agents/limits/quota.ts'
import { defaultValues, nestValues } from '../../../src/domain/config/settings.ts'
import type { EventBody } from '../../../src/domain/event.ts'
import type { QuotaWindow } from '../../../src/domain/quota.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/store.ts'
import { tempDir } from '../../support/world.ts'

export const NOW = Date.UTC(2026, 0, 13, 12)
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE

export interface ABook {
  book: QuotaBook
  store: Store
  clock: { now(): number; at: number }
  settings: QuotaSettings
}

/** A book over a real store, with a clock that the test moves and settings that it may change. */
export async function aBook(t: TestContext, settings: Partial<QuotaSettings> = {}): Promise<ABook> {
  const clock = { at: NOW, now: () => clock.at }
  const store = await openStore({ file: join(tempDir(t), 'store.db'), clock })
  t.after(() => store.close())
  const held: QuotaSettings = { ...nestValues(defaultValues()).quota, ccusage: 'no-ccusage-here', ...settings }
  return { book: openQuota({ store, clock, settings: async () => held }), store, clock, settings: held }
}

export function fiveHours(utilization: number, more: Partial<QuotaWindow> = {}): QuotaWindow {
  return { window: 'five_hour', utilization, resets_at: NOW + 5 * HOUR, source: 'vendor', at: NOW, ...more }
}

/** A usage report of an agent of this session, some minutes ago. */
export async function used(
  { store }: ABook,
  session: { id: string; account: string },
  reports: [minutesAgo: number, Partial<EventBody<'usage.reported'>>][],
): Promise<void> {
  const { id, account } = session
  if (!(await store.sessions.get(id))) {
    await store.sessions.insert({ id, name: id, project: '/p', task: 't', agent: 'claude', account })
  }
  await store.append(
    reports.map(([minutesAgo, body]) => ({
      actor: 'agent',
      subject: id,
      kind: 'usage.reported',
      time: NOW - minutesAgo * MINUTE,
      body: { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0, cost_usd: 0, ...body },
    })),
  )
}
