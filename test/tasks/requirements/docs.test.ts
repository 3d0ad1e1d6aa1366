import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseRequirements, queueFromRequirements } from '../../../src/tasks/requirements/requirements.ts'

const page = readFileSync(new URL('../../../docs/requirements.md', import.meta.url), 'utf8')

test('the files that the page shows are read as it says', async () => {
  const titles = {
    markdown: ['Design the schema', 'Build the API'],
    yaml: ['Design the schema', 'Build the API', 'Write the README'],
  }
  for (const [kind, expected] of Object.entries(titles)) {
    const text = new RegExp(`\`\`\`${kind}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? ''
    const path = kind === 'yaml' ? 'tasks.yaml' : 'tasks.md'
    const parsed = await parseRequirements(path, text)
    assert.equal(parsed.requirements.title, 'Notes API')
    assert.equal(parsed.requirements.overview, 'Notes over HTTP, for one person.')
    assert.deepEqual(parsed.requirements.preferences[0]?.value, 'PostgreSQL')
    assert.deepEqual(parsed.requirements.constraints, ['No network while tests run'])
    const queue = queueFromRequirements({ path, text, parsed })
    assert.deepEqual(
      queue.map(task => task.text.split('\n', 1)[0]),
      expected,
    )
  }
})
