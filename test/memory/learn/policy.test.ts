import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type NewRecord, newRecord } from '../../../src/domain/memory.ts'
import { improvePolicy, KNOBS, knob, policyFor } from '../../../src/memory/learn/policy.ts'

const change = (after: number, fields: Partial<NewRecord> = {}) =>
  newRecord({
    ...{ kind: 'policy', version: 1, name: 'advice.bound', before: 0.9, after, reason: 'r', time: 1 },
    ...{ scope: 'global', of: '', actor: 'daemon', authority: 'gate', ...(fields as object) },
  } as NewRecord)

test('a threshold rises when decisions are corrected too often, falls when surely not, and stays while nobody knows', () => {
  const changed = (advised: number, corrected: number) =>
    improvePolicy({ advised, corrected, shown: 0, useful: 0 }, {}, 3)
  assert.deepEqual(changed(100, 6), [
    {
      version: 4,
      name: 'advice.bound',
      before: 0.9,
      after: 0.93,
      reason: '6 of 100 decisions by experience were corrected',
    },
  ])
  assert.equal(changed(400, 1)[0]?.after, 0.87)
  assert.deepEqual(changed(100, 1), [], 'one of a hundred may be one of twenty')
  assert.deepEqual(changed(20, 10), [], 'too few')
  const [recall] = improvePolicy({ advised: 0, corrected: 0, shown: 200, useful: 4 }, {}, 0)
  assert.deepEqual([recall?.name, recall?.after], ['recall.threshold', 0.25])
})

test('no outcomes and no record take a threshold out of its bounds', () => {
  fc.assert(
    fc.property(fc.nat(500), fc.nat(500), fc.double({ noNaN: false }), (a, b, value) => {
      const { least, most } = KNOBS['advice.bound']
      const start = knob({ 'advice.bound': value }, 'advice.bound')
      assert.ok(start >= least && start <= most)
      for (const { name, before, after } of improvePolicy(
        { advised: a + b, corrected: b, shown: a + b, useful: a },
        { 'advice.bound': value },
        1,
      )) {
        const bounds = KNOBS[name as keyof typeof KNOBS]
        assert.ok(after >= bounds.least && after <= bounds.most && Math.abs(after - before) <= bounds.step + 1e-9)
      }
    }),
  )
})

test('a project’s value counts more than that of all, a role’s more than both, and agents set none', () => {
  const records = [
    change(0.91),
    change(0.92, { scope: 'project', of: 'p' }),
    change(0.95, { role: 'reviewer' }),
    change(0.93),
    change(0.8, { actor: 'agent', authority: 'agent' }),
  ]
  const values = (role: string | null, projects: string[]) => policyFor(records, { role, projects })['advice.bound']
  assert.equal(values(null, []), 0.93)
  assert.equal(values(null, ['p']), 0.92)
  assert.equal(values('reviewer', ['p']), 0.95)
})
