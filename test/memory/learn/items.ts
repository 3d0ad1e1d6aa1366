import type { MemoryItem } from '../../../src/domain/memory.ts'

export const NOW = Date.UTC(2026, 10, 17)
export const DAY_MS = 86_400_000

let made = 0

/** A proven procedure of a project, with whatever a test says otherwise. */
export function item(fields: Partial<MemoryItem> = {}): MemoryItem {
  made += 1
  const id = `i-${String(made).padStart(16, '0')}`
  return {
    ...{ id, kind: 'procedure', scope: 'project', of: 'p', acl: { roles: [], shared_at: null }, agent_id: null },
    ...{ session: null, task: 't-3fa91c', home: null, type: 'command', subject: null },
    ...{
      trigger: { kind: 'failure', text: 'npm t' },
      text: 'Instead of `npm t`: `npm run unit`',
      action: 'npm run unit',
    },
    ...{
      alpha: 5.3,
      beta: 0.1,
      successes: 5,
      failures: 0,
      seed_confidence: 0.75,
      conflicts: 0,
      valid_from: NOW,
      past: [],
    },
    ...{ authority: 'gate', said_at: NOW, importance: 0.5, tier: 'hot', about: [], created_at: NOW, updated_at: NOW },
    ...{ ended_at: null, ended_by: null, uses: 0, last_used_at: null, records: ['m-000001'], evidence: [] },
    ...fields,
  }
}
