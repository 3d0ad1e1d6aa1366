import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type NewRecord, newRecord, type RecordOf } from '../../../src/domain/memory.ts'
import {
  improvePolicy,
  KNOBS,
  type KnobName,
  knob,
  type PolicyCase,
  policyFor,
  revertChange,
} from '../../../src/memory/learn/policy.ts'

const change = (after: number, fields: Partial<NewRecord> = {}) =>
  newRecord({
    ...{ kind: 'policy', version: 1, name: 'advice.bound', before: 0.9, after, reason: 'r', time: 1 },
    ...{ scope: 'global', of: '', actor: 'daemon', authority: 'gate', ...(fields as object) },
  } as NewRecord) as RecordOf<'policy'>

const cases = (name: KnobName, group: PolicyCase['group'], [good, count]: [number, number], of = 'p', time = 10) =>
  Array.from({ length: count }, (_, n): PolicyCase => ({ name, group, good: n < good, time, of }))
const changed = (...given: PolicyCase[][]) =>
  improvePolicy(given.flat(), []).map(({ name, scope, after }) => [name, scope, after])

test('the bound of advice rises when people answer otherwise at it, falls when they surely do not a step below it, and stays while nobody knows', () => {
  const name = 'advice.bound'
  assert.deepEqual(improvePolicy(cases(name, 'in', [94, 100]), [{ ...change(0.9), version: 3, time: 1 }]), [
    {
      ...{ scope: 'global', of: '', role: null, version: 4, name, before: 0.9, after: 0.93 },
      reason: '6 of 100 answers of people were not what experience would have said at this bound',
    },
  ])
  assert.deepEqual(changed(cases(name, 'near', [200, 200])), [[name, 'global', 0.87]])
  assert.deepEqual(changed(cases(name, 'near', [99, 100])), [], 'one of a hundred may be one of twenty')
  assert.deepEqual(changed(cases(name, 'in', [400, 400])), [], 'that it is right at the bound says nothing about less')
  assert.deepEqual(changed(cases(name, 'in', [10, 20])), [], 'too few')
})

test('every other threshold and weight follows its own outcomes, each way, and not chance', () => {
  const both = (
    name: KnobName,
    groups: [PolicyCase['group'], PolicyCase['group']],
    a: [number, number],
    b: [number, number],
  ) => changed(cases(name, groups[0], a), cases(name, groups[1], b)).map(([, , after]) => after)
  const age = ['old', 'fresh'] as const
  assert.deepEqual(both('advice.half_life_days', [...age], [60, 100], [95, 100]), [75], 'old evidence misleads')
  assert.deepEqual(both('advice.half_life_days', [...age], [399, 400], [399, 400]), [105], 'it is as good')
  assert.deepEqual(both('advice.half_life_days', [...age], [48, 50], [49, 50]), [])
  const worth = ['high', 'low'] as const
  assert.deepEqual(both('recall.worth', [...worth], [60, 100], [20, 100]), [0.4])
  assert.deepEqual(both('recall.worth', [...worth], [20, 100], [60, 100]), [0.2])
  assert.deepEqual(both('recall.worth', [...worth], [30, 49], [1, 100]), [])
  const shown = (use: [number, number]) => changed(cases('recall.threshold', 'in', use)).map(([, , after]) => after)
  assert.deepEqual([shown([4, 200]), shown([150, 200]), shown([40, 200])], [[0.25], [0.15], []])
  const up = (kept: [number, number]) => changed(cases('promotion.successes', 'in', kept)).map(([, , after]) => after)
  assert.deepEqual([up([14, 20]), up([60, 60]), up([19, 20]), up([1, 19])], [[4], [2], [], []])
})

test('a project whose outcomes say something else has its own value, and only cases since the last change count', () => {
  const name = 'recall.threshold'
  const [useful, useless] = [cases(name, 'in', [300, 300], 'p'), cases(name, 'in', [0, 60], 'q')]
  assert.deepEqual(changed(useful, useless), [
    [name, 'global', 0.15],
    [name, 'project', 0.25],
  ])
  assert.deepEqual(changed(useless), [[name, 'global', 0.25]], 'what all say is not said again by one')
  const before = change(0.25, { name, time: 20, version: 7 } as Partial<NewRecord>)
  assert.deepEqual(improvePolicy(useless, [before]), [], 'neither for all nor for the project')
  const later = improvePolicy(cases(name, 'in', [0, 60], 'q', 30), [before])
  assert.deepEqual(
    later.map(({ version, after }) => [version, after]),
    [[8, 0.3]],
  )
})

test('a role whose outcomes say something else has its own value, in all projects or in one, and people answer for all roles alike', () => {
  const name = 'recall.threshold'
  const seen = (role: string | null, use: [number, number], of: string) =>
    cases(name, 'in', use, of).map(each => ({ ...each, role }))
  const given = [
    ...seen(null, [300, 300], 'p'),
    ...seen('conductor', [0, 60], 'p'),
    ...seen('musician', [60, 60], 'p'),
    ...seen('musician', [0, 51], 'q'),
  ]
  const found = improvePolicy(given, []).map(({ scope, of, role, after }) => [scope, of, role, after])
  assert.deepEqual(found, [
    ['global', '', null, 0.15],
    ['project', 'q', null, 0.25],
    ['global', '', 'conductor', 0.25],
  ])
  const wrong = cases('advice.bound', 'in', [94, 100]).map(each => ({ ...each, role: 'conductor' }))
  assert.deepEqual(improvePolicy([...cases('advice.bound', 'in', [400, 400]), ...wrong], []), [])
  const before = change(0.25, { name, time: 20, version: 7, role: 'conductor' } as Partial<NewRecord>)
  assert.deepEqual(improvePolicy(seen('conductor', [0, 60], 'p'), [before])[0]?.role, null, 'all have not changed yet')
  const later = seen('conductor', [0, 60], 'p').map(each => ({ ...each, time: 30 }))
  const more = [...cases(name, 'in', [60, 60], 'q', 30), ...later]
  assert.deepEqual(
    improvePolicy(more, [before]).map(({ role, of, before, after }) => [role, of, before, after]),
    [
      [null, '', 0.2, 0.15],
      [null, 'p', 0.2, 0.25],
      ['conductor', '', 0.25, 0.3],
    ],
  )
})

test('a change that is taken back leaves the value that was before it', () => {
  const records = [change(0.93), { ...change(0.96), version: 2, before: 0.93, time: 2 }]
  const back = revertChange(records, 2)
  assert.deepEqual(back && [back.before, back.after, back.version], [0.96, 0.93, 3])
  const all = [
    ...records,
    change(back?.after ?? 0, { version: 3, time: 3, authority: 'person', actor: 'person' } as Partial<NewRecord>),
  ]
  assert.equal(policyFor(all, { role: null, projects: [] })['advice.bound'], 0.93)
  assert.equal(revertChange(records, 9), undefined)
  const ofRole = revertChange([change(0.93, { role: 'conductor', scope: 'project', of: 'p' })], 1)
  assert.deepEqual(ofRole && [ofRole.role, ofRole.scope, ofRole.of, ofRole.after], ['conductor', 'project', 'p', 0.9])
})

test('no outcomes and no record take a threshold out of its bounds', () => {
  const names = Object.keys(KNOBS) as KnobName[]
  const any = fc.record({
    name: fc.constantFrom(...names),
    group: fc.constantFrom(
      'in' as const,
      'near' as const,
      'old' as const,
      'fresh' as const,
      'high' as const,
      'low' as const,
    ),
    tries: fc.tuple(fc.nat(300), fc.nat(300)),
  })
  fc.assert(
    fc.property(fc.array(any, { maxLength: 4 }), fc.double(), fc.constantFrom(...names), (given, value, name) => {
      const { least, most } = KNOBS[name]
      const start = knob({ [name]: value }, name)
      assert.ok(start >= least && start <= most)
      const all = given.flatMap(each => cases(each.name, each.group, [each.tries[0], each.tries[0] + each.tries[1]]))
      for (const each of improvePolicy(all, [change(value, { name, time: 1 } as Partial<NewRecord>)])) {
        const bounds = KNOBS[each.name as KnobName]
        assert.ok(each.after >= bounds.least && each.after <= bounds.most)
        assert.ok(Math.abs(each.after - each.before) <= bounds.step + 1e-9)
      }
    }),
    { numRuns: 60 },
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
