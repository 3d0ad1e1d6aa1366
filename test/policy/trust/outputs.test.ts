import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findNamedScripts } from '../../../src/policy/trust/files.ts'
import { tempDir } from '../../support/world.ts'

const FILES = ['tools/guard.sh', 'hook.log', 'HOOK_RAN', 'late.sh']

const CASES: [command: string, counts: string[]][] = [
  ['touch $CLAUDE_PROJECT_DIR/HOOK_RAN', []],
  ['"$CLAUDE_PROJECT_DIR"/tools/guard.sh >> "$CLAUDE_PROJECT_DIR"/hook.log 2>&1', ['tools/guard.sh']],
  ['sh ./tools/guard.sh 2> hook.log | tee -a ./hook.log', ['tools/guard.sh']],
  ['rm -f "$CLAUDE_PROJECT_DIR/hook.log"; ./tools/guard.sh', ['tools/guard.sh']],
  // A file that is first written and then run counts, and so does everything that only looks like an output.
  ['echo x > ./late.sh; sh ./late.sh', ['late.sh']],
  ['touch ./late.sh && . ./late.sh', ['late.sh']],
  ['exec -a touch ./late.sh', ['late.sh']],
  ['echo x | tee >(sh ./late.sh)', ['late.sh']],
  ['sh <>./late.sh', ['late.sh']],
  ['node ./late.sh --flag->./tools/guard.sh', ['late.sh', 'tools/guard.sh']],
]

for (const [command, counts] of CASES) {
  test(`the hook ${command} brings in ${counts.join(', ') || 'no script'}`, async t => {
    const project = projectWith(t, FILES)
    const text = JSON.stringify({ hooks: { Stop: [{ hooks: [{ type: 'command', command }] }] } })
    const found = await findNamedScripts(text, project, project)
    assert.deepEqual(found.map(path => path.slice(project.length + 1)).sort(), counts)
  })
}

function projectWith(t: TestContext, files: string[]): string {
  const project = tempDir(t)
  for (const file of files) {
    mkdirSync(join(project, file, '..'), { recursive: true })
    writeFileSync(join(project, file), '')
  }
  return project
}
