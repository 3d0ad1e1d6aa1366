import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../src/domain/api.ts'
import { agentWorld } from './agent-world.ts'

const SCENARIO = `
conversations:
  - match: design the schema
    turns:
      - tools:
          - AskUserQuestion:
              questions:
                - question: Which database should I use?
                  header: Database
                  multiSelect: false
                  options: [{ label: MongoDB, description: "" }, { label: PostgreSQL, description: "" }]
      - text: Designed it.
        tools:
          - Write: { file_path: "{{cwd}}/answer.txt", content: "{{last_tool_result}}" }
      - text: The schema is designed.
    otherwise: { text: 'Did {{prompt}}.' }
`

const FILE = `project: Notes API
description: Notes over HTTP.
tasks:
  - { id: api, description: build the API, priority: high, depends_on: schema }
  - { id: docs, description: write the docs, priority: low }
  - { id: repo, description: set up the repository, done: true }
  - { id: schema, description: design the schema, depends_on: repo }
preferences:
  database: PostgreSQL
`

test('a file of requirements is worked through in its order, and its preferences answer what is asked', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  writeFileSync(join(pcc.home, 'req.yaml'), FILE)
  const { code, stdout, stderr } = await pcc.run(['start', project, '--requirements', 'req.yaml'])
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^╭─ PerpetualCC Session: notes-api ─/)
  assert.match(stdout, /\nQueue: 3 tasks of req\.yaml, 1 done already\n/)
  assert.match(readFileSync(join(project, 'answer.txt'), 'utf8'), /"Which database should I use\?"="PostgreSQL"/)
  const said = [...stdout.matchAll(/(The schema is designed|Did build the API|Did write the docs)\./g)].map(
    ([, one]) => one,
  )
  assert.deepEqual([...new Set(said)], ['The schema is designed', 'Did build the API', 'Did write the docs'])

  const { task, queue } = JSON.parse((await pcc.run(['status', 'notes-api', '--json'])).stdout) as SessionView
  assert.match(
    task,
    /^design the schema\n\n.*first of 3 tasks.*\n\nRequirements \(req\.yaml\):\n\nproject: Notes API\n/,
  )
  assert.doesNotMatch(task, /build the API/)
  assert.deepEqual(queue, [])
})

test('beside a task the whole file stands under it, and its preferences answer what is asked', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  writeFileSync(join(pcc.home, 'req.md'), '## Tasks\n- [ ] build the API\n\n## Preferences\n- Database: PostgreSQL\n')
  const args = ['start', project, '--task', 'design the schema', '--requirements', 'req.md', '--detach']
  const { code, stdout, stderr } = await pcc.run(args)
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^Session started: s-\w+ \(design-schema\)\nAttach with: /)
  await pcc.run(['attach', 'design-schema'])
  const { task } = JSON.parse((await pcc.run(['status', 'design-schema', '--json'])).stdout) as SessionView
  assert.match(task, /^design the schema\n\nRequirements \(req\.md\):\n\n## Tasks\n- \[ \] build the API\n/)
  assert.match(readFileSync(join(project, 'answer.txt'), 'utf8'), /"PostgreSQL"/)
})
