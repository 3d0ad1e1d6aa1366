import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addStamp,
  applySteps,
  IGNORE_LINES,
  isUntouched,
  planSteps,
  withIgnoreLines,
} from '../../../../src/cli/commands/init/files.ts'
import { FOLDER_README, FOLDERS, settingsText, skillFiles } from '../../../../src/cli/commands/init/texts.ts'
import { checkConfigText, projectLayer } from '../../../../src/domain/config/layers.ts'
import { defaultValues } from '../../../../src/domain/config/settings.ts'
import type { ProjectFacts } from '../../../../src/domain/project-facts.ts'
import { findingsInPrompt } from '../../../../src/policy/trust/prompt-findings.ts'
import { tempDir } from '../../../support/world.ts'
import { projectOf } from '../../../workspace/detect/project-of.ts'

const NOTHING: ProjectFacts = {
  files: 0,
  is_cut: false,
  languages: [],
  units: [],
  commands: [],
  source_directories: [],
  git: undefined,
  problems: [],
}

const things = (facts: ProjectFacts = NOTHING) => [
  { path: '.perpetualcc.toml', content: settingsText(facts) },
  FOLDER_README,
  ...FOLDERS,
  ...skillFiles(facts),
]

test('what was written is known as untouched, with either line ending, and as somebody’s after any change', () => {
  fc.assert(
    fc.property(
      fc.string().map(text => `${text}\n`),
      fc.constantFrom('toml' as const, 'markdown' as const),
      (text, form) => {
        const written = addStamp(text.replaceAll('\r', ''), form)
        assert.equal(isUntouched(written), true)
        assert.equal(isUntouched(written.replaceAll('\n', '\r\n')), true)
        assert.equal(isUntouched(`x${written}`), false)
        assert.equal(isUntouched(`${written}x`), false)
      },
    ),
  )
})

test('lines for git are appended once, and every byte of a person’s stays', () => {
  const line = fc.constantFrom('node_modules', '# x', '', '*.log', '!keep', '.perpetualcc.toml', 'a.perpetualcc/', '  ')
  const text = fc
    .tuple(fc.array(line), fc.constantFrom('\n', '\r\n'), fc.boolean())
    .map(([lines, newline, isEnded]) => lines.join(newline) + (isEnded && lines.length > 0 ? newline : ''))
  fc.assert(
    fc.property(text, before => {
      const edit = withIgnoreLines(before)
      assert.ok('text' in edit)
      assert.ok(edit.text.startsWith(before))
      if (before !== '') assert.equal(edit.text.endsWith('\n'), before.endsWith('\n'))
      const lines = edit.text.split(/\r?\n/)
      for (const each of IGNORE_LINES) assert.equal(lines.filter(line => line === each).length, 1)
      if (before.includes('\r\n') && !/(^|[^\r])\n/.test(before)) assert.doesNotMatch(edit.text, /(^|[^\r])\n/)
      assert.ok('kept' in withIgnoreLines(edit.text))
    }),
  )
})

test('a .gitignore from which a person removed a line, or which ignores the whole folder, is kept, and that is said', () => {
  const own = `${IGNORE_LINES.filter(line => !line.includes('features')).join('\n')}\n`
  assert.match((withIgnoreLines(own) as { kept: string }).kept, /missing: !\/\.perpetualcc\/features\//)
  assert.match((withIgnoreLines('.perpetualcc/\n') as { kept: string }).kept, /features and notes too/)
})

test('a second time changes nothing, whatever lay there before', async t => {
  const names = ['.perpetualcc.toml', '.perpetualcc/README.md', '.claude/skills/plan-tasks/SKILL.md', '.gitignore']
  const file = fc.constantFrom('', 'mine', 'mine\r\n', 'version = 1\n', '/.perpetualcc/*\n', 'node_modules')
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...names), file, { noNullPrototype: true }), async before => {
      const project = projectOf(t, before)
      applySteps(project, planSteps(project, { entries: things(), ignore: true }))
      const after = everythingIn(project)
      for (const [name, text] of Object.entries(before)) {
        assert.ok(after[name]?.startsWith(text), `${name} begins with what it was`)
        if (name !== '.gitignore') assert.equal(after[name], text)
      }
      const again = planSteps(project, { entries: things(), ignore: true })
      assert.deepEqual(
        again.filter(({ does }) => does !== 'keep'),
        [],
      )
      applySteps(project, again)
      assert.deepEqual(everythingIn(project), after)
    }),
    { numRuns: 25 },
  )
})

test('what nobody has changed is brought up to date, in its own line endings and mode; what somebody has is kept', t => {
  const project = tempDir(t)
  applySteps(project, planSteps(project, { entries: things(), ignore: false }))
  const skill = join(project, '.claude/skills/check-your-work/SKILL.md')
  const settings = join(project, '.perpetualcc.toml')
  writeFileSync(skill, readFileSync(skill, 'utf8').replaceAll('\n', '\r\n'))
  chmodSync(skill, 0o640)
  writeFileSync(settings, `${readFileSync(settings, 'utf8')}# mine\n`)
  const command = { kind: 'test', run: 'npm test', directory: '.', from: 'package.json', declared: true } as const
  const steps = planSteps(project, { entries: things({ ...NOTHING, commands: [command] }), ignore: false })
  assert.deepEqual(
    steps
      .filter(({ does, why }) => does !== 'keep' || why !== undefined)
      .map(({ path, does, why }) => [path, does, why]),
    [
      ['.perpetualcc.toml', 'keep', 'it is yours'],
      ['.claude/skills/check-your-work/SKILL.md', 'change', 'nobody had changed it, and there is a new version'],
    ],
  )
  applySteps(project, steps)
  const text = readFileSync(skill, 'utf8')
  assert.match(text, /\| Test \| `npm test` \|/)
  assert.doesNotMatch(text, /[^\r]\n/)
  assert.equal(statSync(skill).mode & 0o777, 0o640)
  assert.match(readFileSync(settings, 'utf8'), /# mine\n$/)
})

test('nothing is written through a link that leads out of the project, or nowhere, nor over what stands in the way', t => {
  const [project, elsewhere] = [tempDir(t), tempDir(t)]
  symlinkSync(elsewhere, join(project, '.claude'))
  symlinkSync(join(elsewhere, 'nothing'), join(project, '.perpetualcc.toml'))
  writeFileSync(join(elsewhere, 'ignore'), 'x\n')
  symlinkSync(join(elsewhere, 'ignore'), join(project, '.gitignore'))
  writeFileSync(join(project, '.perpetualcc'), 'a file')
  const steps = planSteps(project, { entries: things(), ignore: true })
  assert.deepEqual([...new Set(steps.map(({ does }) => does))], ['leave'])
  applySteps(project, steps)
  assert.deepEqual(readdirSync(elsewhere), ['ignore'])
  assert.equal(readFileSync(join(elsewhere, 'ignore'), 'utf8'), 'x\n')
  assert.equal(readFileSync(join(project, '.perpetualcc'), 'utf8'), 'a file')
  assert.equal(
    steps.find(({ path }) => path.startsWith('.claude'))?.why,
    '.claude is a link that leads out of the project',
  )
})

test('a folder that is a link inside the project is followed; a .gitignore that is one is left, as git does not follow it', t => {
  const project = tempDir(t)
  mkdirSync(join(project, 'tools/claude'), { recursive: true })
  symlinkSync('tools/claude', join(project, '.claude'))
  writeFileSync(join(project, 'ignored'), 'x\n')
  symlinkSync('ignored', join(project, '.gitignore'))
  const steps = planSteps(project, { entries: things(), ignore: true })
  applySteps(project, steps)
  assert.ok(statSync(join(project, 'tools/claude/skills/plan-tasks/SKILL.md')).isFile())
  assert.deepEqual(steps.at(-1), { path: '.gitignore', does: 'leave', why: 'git does not follow it: it is a link' })
  assert.equal(readFileSync(join(project, 'ignored'), 'utf8'), 'x\n')
})

test('a pipe that has the name of one of our files keeps nobody waiting, and stays', t => {
  const project = tempDir(t)
  execFileSync('mkfifo', [join(project, '.gitignore'), join(project, '.perpetualcc.toml')])
  const steps = planSteps(project, { entries: things(), ignore: true })
  assert.deepEqual(
    steps.filter(({ does }) => does === 'leave').map(({ path, why }) => [path, why]),
    [
      ['.perpetualcc.toml', 'it is neither a file nor a folder'],
      ['.gitignore', 'it is neither a file nor a folder'],
    ],
  )
})

test('when one of them fails, all that was done before it is undone', t => {
  const project = projectOf(t, { '.gitignore': 'x\n' })
  const steps = planSteps(project, { entries: things(), ignore: true })
  // Somebody else creates the file first.
  mkdirSync(join(project, '.claude/skills/plan-tasks/SKILL.md'), { recursive: true })
  const before = everythingIn(project)
  const [ignore, ...others] = steps.toReversed()
  assert.throws(() => applySteps(project, [...(ignore ? [ignore] : []), ...others.toReversed()]), {
    code: 'project_not_writable',
  })
  assert.deepEqual(everythingIn(project), before)
})

test('the settings that are written are valid, loosen nothing, and stay so when the marks are taken away', () => {
  const facts = { ...NOTHING, source_directories: ['src/', 'tests/'] }
  const read = (content: string) => checkConfigText({ path: '.perpetualcc.toml', content, home: '/home/x' })
  assert.deepEqual(read(settingsText(facts)).values, {})
  const active = settingsText(facts).replace(/^# (?=\[[a-z.]+\]$|[a-z_]+ = )/gm, '')
  const file = read(active)
  assert.deepEqual(Object.keys(file.values).sort(), [
    'budgets.task.cost_usd',
    'budgets.task.wall_minutes',
    'execution.model_strategy',
    'permissions.blocked_commands',
    'permissions.safe_directories',
    'permissions.unattended_high',
    'sessions.max_concurrent',
  ])
  assert.deepEqual(projectLayer(file, defaultValues(), false).untrusted, [])
})

test('names of a repository cannot break out of a comment, a table or a skill’s head', () => {
  const odd = 'a\n[permissions]\nblocked_commands = []\n--> | ` \u202e\u001b[2J'
  const command = { kind: 'test', run: 'npm test', directory: odd, from: odd, declared: true } as const
  const unit = { directory: odd, ecosystem: 'node', manager: 'npm', manager_from: odd, members: [] }
  const facts = { ...NOTHING, units: [unit], commands: [command], source_directories: [`${odd}/`] }
  const text = settingsText(facts)
  assert.deepEqual(checkConfigText({ path: 'x', content: text, home: '/home/x' }).values, {})
  assert.doesNotMatch(text, /[\u202e\u001b]/)
  assert.deepEqual(
    text.split('\n').filter(line => line !== '' && !line.startsWith('#')),
    ['version = 1'],
  )
  for (const { content } of skillFiles(facts)) {
    assert.deepEqual(findingsInPrompt(content), [])
    assert.equal(content.split('\n').filter(line => line.startsWith('[permissions]')).length, 0)
    assert.equal(content.match(/-->/g)?.length, 1)
  }
})

function everythingIn(folder: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = path.slice(folder.length + 1)
    found[name] = entry.isFile() ? readFileSync(path, 'utf8') : ''
  }
  return found
}
