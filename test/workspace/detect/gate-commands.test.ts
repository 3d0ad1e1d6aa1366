import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProjectCommand } from '../../../src/domain/project/project-facts.ts'
import { gateCommandsFrom } from '../../../src/workspace/detect/gate-commands.ts'

const command = (more: Partial<ProjectCommand>): ProjectCommand => ({
  ...{ kind: 'test', run: 'npm test', directory: '.', from: 'package.json', declared: true, ...more },
})

test('a command of the project itself is the gate as it is; one of a folder runs there; both run in turn', () => {
  const own = command({})
  const web = command({ run: 'pytest', directory: 'services/api', from: 'services/api/pyproject.toml' })
  const runs = (...commands: ProjectCommand[]) => gateCommandsFrom(commands).map(({ run }) => run)
  assert.deepEqual(runs(own), ['npm test'])
  assert.deepEqual(runs(web), ['(cd services/api && pytest)'])
  assert.deepEqual(runs(own, web), ['npm test && (cd services/api && pytest)'])
})

test('a folder that a shell would read otherwise is left out, and a caution is handed on', () => {
  const strange = command({ directory: 'a; rm b' })
  assert.deepEqual(gateCommandsFrom([strange]), [])
  const watches = command({ kind: 'lint', run: 'eslint', caution: 'it changes files' })
  assert.deepEqual(gateCommandsFrom([command({}), watches, strange]), [
    { gate: 'lint', run: 'eslint', from: 'package.json', caution: 'it changes files' },
    { gate: 'test', run: 'npm test', from: 'package.json' },
  ])
})
