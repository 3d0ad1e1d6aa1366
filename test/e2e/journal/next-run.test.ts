import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentWorld } from '../agent-world.ts'

const NOTE = `Totals are integers in cents; floats lost a cent in the tax.`
const KEY = 'sk-ant-abcdefghijklmnop1234'

const SCENARIO = `
conversations:
  - match: Show the cart total in the header
    turns:
      - text: |
          The header shows it.
          <journal>The header reads cart/total.js.</journal>
        expect: { prompt_contains: "${NOTE}" }
  - match: Compute the cart total
    turns:
      - tools: [{ Write: { file_path: "{{cwd}}/cart/total.js", content: "export const total = 0\\n" } }]
      - tools: [{ Bash: { command: touch cart/tax.txt } }]
      - text: |
          Done, it adds up.

          <journal>
          Rounding is half to even, as the bank wants it. The key ${KEY} was in a comment.
          </journal>
          <knowledge title="Totals are cents" tags="cart, money">${NOTE}</knowledge>
`

test('what the first run wrote down stands before the agent of the second, and before the person', async t => {
  const { pcc, project, simulator } = await agentWorld(t, SCENARIO)
  const run = async (...args: string[]) => {
    const outcome = await pcc.run(args, { cwd: project })
    assert.equal(outcome.code, 0, `${args.join(' ')}: ${outcome.stdout}${outcome.stderr}`)
    return outcome.stdout
  }
  await run('task', 'add', 'Compute the cart total')
  await run('run', '.')
  await run('task', 'add', 'Show the cart total in the header')
  await run('run', '.')

  const prompts = simulator.requests.filter(({ unexpected }) => unexpected !== undefined)
  assert.deepEqual(
    prompts.flatMap(({ unexpected }) => unexpected ?? []),
    [],
  )
  // What stands before the brief is the same for each task, so the vendor's cache holds; our own tools are looked up where they help.
  const [one, two] = [simulator.requests[0]?.body, simulator.requests.at(-1)?.body]
  assert.deepEqual(two?.tools, one?.tools)
  assert.deepEqual(
    [two?.system].flat().slice(1),
    [one?.system].flat().slice(1),
    'the first line is the vendor’s own count',
  )
  assert.ok(
    two?.tools.includes('ToolSearch') && !two.tools.some(name => /mcp__|Wakeup|Cron/.test(name)),
    `${two?.tools}`,
  )
  assert.match(JSON.stringify(two?.messages), /deferred tools are now available.*mcp__pcc__add_task/)
  const second = String(simulator.requests.at(-1)?.prompt)
  const past = second.slice(second.indexOf('## What happened before'))
  assert.match(
    past,
    /Of the whole project, what is most like this task:\n\n```\nt-\w+ Compute the cart total: done in under a minute/,
  )
  assert.match(
    past,
    /changed: cart\/total\.js, cart\/tax\.txt\nRounding is half to even, as the bank wants it\. The key sk-\[hidden\]/,
  )
  assert.ok(!past.includes(KEY))
  const notes = second.slice(second.indexOf('## Notes on this project'))
  assert.match(
    notes,
    /```\nTotals are cents \[cart, money\]\n\(\.perpetualcc\/knowledge\/totals-are-cents\.md\)\n\nTotals are integers/,
  )
  const first = String(simulator.requests[0]?.prompt)
  assert.ok(!first.includes('## Notes on') && !first.includes('## What happened before'))

  const file = readFileSync(join(project, '.perpetualcc/knowledge/totals-are-cents.md'), 'utf8')
  assert.match(file, /^---\ntitle: Totals are cents\ntags: \[?/)
  const listed = JSON.parse(await run('journal', '--json'))
  assert.deepEqual(
    listed.entries.map(({ title, outcome, files }: Record<string, unknown>) => [title, outcome, files]),
    [
      ['Show the cart total in the header', 'done', []],
      ['Compute the cart total', 'done', ['cart/total.js', 'cart/tax.txt']],
    ],
  )
  assert.match(await run('journal', 'rounding', 'bank'), /^✓ t-\w+ Compute the cart total +just now · .* · r-\w+ #1\n/)
})
