import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { RequiredTask } from '../../../src/domain/brain.ts'
import { findRequirementsCycle, orderOpenTasks } from '../../../src/tasks/requirements/reading.ts'
import { parseRequirements, queueFromRequirements } from '../../../src/tasks/requirements/requirements.ts'

const queue = async (path: string, text: string) =>
  queueFromRequirements({ path, text, parsed: await parseRequirements(path, text) })

test('what is open runs in the order of the file; the rest of the file stands under the first task alone', async () => {
  const text = '# Project: N\n\nA lead.\n\n## Tasks\n- [x] done\n- [ ] one\n- [ ] two\n\n## Notes\nMind the gap.\n'
  assert.deepEqual(await queue('n.md', text), [
    {
      text: [
        'one',
        'This is the first of 2 tasks: do only this one, the others follow one at a time.',
        'Requirements (n.md):\n\n# Project: N\n\nA lead.\n\n## Notes\nMind the gap.',
      ].join('\n\n'),
      priority: 0,
      after: [],
    },
    { text: 'two', priority: 0, after: [] },
  ])
  assert.deepEqual(await queue('one.md', '- [ ] only this\n'), [{ text: 'only this', priority: 0, after: [] }])
})

test('what stands between the tasks is kept for the agent', async () => {
  const [first] = await queue('n.md', '## Tasks\nIn this order, please:\n- [ ] one\n- [ ] two\n')
  assert.match(first?.text ?? '', /Requirements \(n\.md\):\n\n## Tasks\nIn this order, please:$/)
})

test('a higher priority comes first, but never before what it depends on, and what is done is not waited for', async () => {
  const text = `project: N
tasks:
  - { id: ui, description: ui, priority: high, depends_on: [api, ci] }
  - { id: docs, description: docs, priority: low }
  - { id: api, description: api }
  - { id: ci, description: ci, done: true }
  - { id: fix, description: fix, priority: 3 }
license: MIT
`
  const tasks = await queue('n.yaml', text)
  assert.deepEqual(
    tasks.map(({ id, priority, after }) => ({ id, priority, after })),
    [
      { id: 'fix', priority: 3, after: [] },
      { id: 'api', priority: 0, after: [] },
      { id: 'ui', priority: 10, after: ['api'] },
      { id: 'docs', priority: -10, after: [] },
    ],
  )
  assert.match(tasks[0]?.text ?? '', /Requirements \(n\.yaml\):\n\nproject: N\nlicense: MIT$/)
})

/** Half of the graphs have edges in one direction only, whatever the order of the tasks in the file. */
const graph = fc.record({ count: fc.integer({ min: 1, max: 12 }), sound: fc.boolean() }).chain(({ count, sound }) => {
  const numbers = Array.from({ length: count }, (_, index) => index)
  const node = fc.record({
    depends: fc.uniqueArray(fc.integer({ min: 0, max: count - 1 }), { maxLength: 3 }),
    priority: fc.integer({ min: -2, max: 2 }),
    done: fc.boolean(),
  })
  const ranks = fc.shuffledSubarray(numbers, { minLength: count })
  return fc.tuple(fc.array(node, { minLength: count, maxLength: count }), ranks).map(([nodes, rank]) =>
    nodes.map(({ depends, priority, done }, index): RequiredTask => {
      const allowed = depends.filter(other => !sound || (rank[other] ?? 0) < (rank[index] ?? 0))
      const name = `t${index}`
      return { id: name, text: name, done, priority, depends_on: allowed.map(other => `t${other}`), line: index + 1 }
    }),
  )
})

test('whatever the graph: a cycle that is told is one, and without one every open task runs once, after its blockers', async () => {
  const seen = { cycles: 0, orders: 0 }
  fc.assert(
    fc.property(graph, tasks => {
      const cycle = findRequirementsCycle(tasks)
      if (cycle) {
        seen.cycles += 1
        for (const [index, { depends_on }] of cycle.entries()) {
          assert.ok(depends_on.includes(cycle[(index + 1) % cycle.length]?.id ?? ''))
        }
        return
      }
      seen.orders += 1
      const order = orderOpenTasks(tasks).map(({ text }) => text)
      const open = tasks.filter(({ done }) => !done)
      assert.deepEqual(order.toSorted(), open.map(({ text }) => text).toSorted())
      for (const { text, depends_on } of open) {
        const before = order.slice(0, order.indexOf(text))
        const missing = depends_on.filter(id => order.includes(id) && !before.includes(id))
        assert.deepEqual(missing, [])
      }
    }),
    { numRuns: 500 },
  )
  assert.ok(seen.cycles > 50 && seen.orders > 50, JSON.stringify(seen))
})
