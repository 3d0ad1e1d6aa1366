import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findClosedPrograms } from '../../../src/base/sandbox/closed-programs.ts'
import { tempDir } from '../../support/world.ts'

// The second sandbox would take a folder `.git` that the first one had made for a broken repository, and refuse the project.
test('a project without a repository gets no folders of hooks, whatever the settings of git name', t => {
  const [project, home] = [tempDir(t), tempDir(t)]
  const programs = [{ at: project, named: { hooks: ['.githooks', `${project}/hooks`], commands: [] } }]
  const found = findClosedPrograms({ git: undefined, branches: undefined, programs, home, writable: [project] })
  assert.deepEqual(found, { kept: [], links: [], rewritten: [] })
})
