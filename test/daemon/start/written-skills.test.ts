import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { applySteps, planSteps } from '../../../src/cli/commands/init/files.ts'
import { settingsText, skillFiles } from '../../../src/cli/commands/init/texts.ts'
import { detectProject } from '../../../src/workspace/detect/detect-project.ts'
import { openProjectReader } from '../../../src/workspace/detect/project-files.ts'
import { agentSessions } from '../agent-sessions.ts'
import { viewWhen } from '../daemon-process.ts'

const SCENARIO = `
conversations:
  - match: check it
    turns:
      - tools: [{ Skill: { skill: check-your-work } }]
      - text: Done.
`

test('the real agent finds the skills that pcc init wrote, may load one without trust, and is told how to test', async t => {
  const world = await agentSessions(t, SCENARIO)
  const { project } = world
  writeFileSync(join(project, 'go.mod'), 'module x\n')
  const facts = await detectProject(openProjectReader(project), project)
  const things = [{ path: '.perpetualcc.toml', content: settingsText(facts) }, ...skillFiles(facts)]
  applySteps(project, planSteps(project, { entries: things, ignore: true }))

  const { id } = await world.start('check it')
  const view = await viewWhen(world.daemon, id, ({ status }) => status === 'completed')
  assert.equal(view.tools.denied, 0)
  const [first, last] = [world.simulator.requests[0], world.simulator.requests.at(-1)].map(each => JSON.stringify(each))
  for (const name of ['check-your-work', 'project-notes', 'plan-tasks']) assert.match(first ?? '', new RegExp(name))
  assert.doesNotMatch(first ?? '', /go test/)
  assert.match(last ?? '', /go test \.\/\.\.\./)
})
