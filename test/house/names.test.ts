import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { tempDir } from '../support/world.ts'
import { wrongFolders, wrongNames } from './names.ts'
import { ROOT } from './source-tree.ts'

const KNOWN = { commands: ['start', 'hook'], settings: ['sessions.max_concurrent', 'logs.level'] }

test('every name in backticks that does not exist is reported, with its file and line', t => {
  const root = treeWith(t, {
    'AGENTS.md':
      'Read `src/cli/start.ts`, `src/cli/` and `start.ts`.\nNot `src/cli/gone.ts`, nor `gone.ts`, nor `docs/x-*.md`.\n',
    'CONTEXT.md': 'A `LiveTask` is made by `openTask()`, not by `makeTask` or `make()`; `DeadTask.state` is gone.\n',
    'docs/a.md':
      'Type `pcc start --detach`, not `pcc begin` or `pcc start --forever`.\n```\n`goneInBlock` and `pcc begin`\n```\n' +
      'Set `sessions.max_concurrent = 2`, `sessions.*` or `logs`, not `sessions.most`; `sessions.ended` is an event.\n' +
      'Or `PCC_HOME`, `PCC_LOGS_LEVEL` and `PCC_*`, not `PCC_GONE=1`.\n',
    'docs/adr/1.md': 'We had `makeTask()`; `src/gone.ts` was its file.\n',
    'src/cli/start.ts':
      "// `openTask` and `LiveTask`, unlike `closeTask`, are here.\nexport type LiveTask = 'sessions.ended'\n" +
      "export const openTask = () => ['--detach', process.env['PCC_HOME']] // not `shutTask`\n" +
      '/**\n * `makeTask` was here.\n */\nexport const text = `makeThings is no comment`\n',
  })
  assert.deepEqual(wrongNames(root, KNOWN), [
    'AGENTS.md:2 `src/cli/gone.ts`: there is no such file',
    'AGENTS.md:2 `gone.ts`: there is no such file',
    'AGENTS.md:2 `docs/x-*.md`: there is no such file',
    'CONTEXT.md:1 `makeTask`: nothing in the code is called makeTask',
    'CONTEXT.md:1 `make()`: nothing in the code is called make',
    'CONTEXT.md:1 `DeadTask.state`: nothing in the code is called DeadTask',
    'docs/a.md:1 `pcc begin`: there is no command begin',
    'docs/a.md:1 `pcc start --forever`: no command has --forever',
    'docs/a.md:5 `sessions.most`: there is no such setting',
    'docs/a.md:6 `PCC_GONE=1`: the program does not read PCC_GONE',
    'docs/adr/1.md:1 `src/gone.ts`: there is no such file',
    'src/cli/start.ts:1 `closeTask`: nothing in the code is called closeTask',
    'src/cli/start.ts:3 `shutTask`: nothing in the code is called shutTask',
    'src/cli/start.ts:5 `makeTask`: nothing in the code is called makeTask',
  ])
})

test('plain words, names of other things and examples are left alone', t => {
  const root = treeWith(t, {
    'docs/a.md':
      '`allow`, `npm test`, `git push --force`, `~/.perpetualcc/rules.toml`, `package.json`, `logs.md`, `task.done`, ' +
      '`src/cli/commands/<name>.ts`, `{ taskId }`, `pcc`, `MEDIUM`, `failIfUnavailable`\n',
    'src/a.ts': 'export const a = 1\n',
  })
  assert.deepEqual(wrongNames(root, KNOWN), [])
})

test('the table of folders in docs/architecture.md is the tree', () => {
  assert.deepEqual(wrongFolders(ROOT), [])
})

test('a folder that the table does not name, or that does not exist, is reported', t => {
  const root = treeWith(t, {
    'docs/architecture.md':
      '| folder | contents |\n|---|---|\n| `src/cli` | `commands/<name>.ts`, `live` and `gone` |\n| `src/old` | things |\n',
    ...{ 'src/cli/commands/a.ts': '', 'src/cli/live/b.ts': '', 'src/cli/render/c.ts': '', 'src/base/d.ts': '' },
  })
  assert.deepEqual(wrongFolders(root), [
    'docs/architecture.md: there is no folder src/old',
    'docs/architecture.md: src/base has no row',
    'docs/architecture.md: src/cli has no folder gone',
    'docs/architecture.md: the row of src/cli does not name render',
  ])
})

function treeWith(t: Parameters<typeof tempDir>[0], files: Record<string, string>): string {
  const root = tempDir(t)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}
