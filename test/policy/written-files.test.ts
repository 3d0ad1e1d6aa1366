import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { judgePermission } from '../../src/brain/rules/permission.ts'
import { openClassifier } from '../../src/policy/classify/classify.ts'
import { readArchive, readPatch } from '../../src/policy/paths/archive-names.ts'
import { tempDir } from '../support/world.ts'

/** Writes a project with these files, and returns how a command in it is decided about. */
function openProject(project: string, files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, name)), { recursive: true })
    writeFileSync(join(project, name), text)
  }
  return async (command: string) => {
    using classifier = openClassifier()
    const assessment = await classifier.classify({ tool: 'Bash', input: { command }, project, home: '/home/u' })
    if (assessment.risk === 'HIGH') return 'HIGH'
    return assessment.risk === 'LOW' || judgePermission(assessment).approve ? 'runs' : 'asked'
  }
}

const patchOf = (name: string) => `--- a/${name}\n+++ b/${name}\n@@ -0,0 +1 @@\n+x\n`

test('a patch is judged by the files that it writes', async t => {
  const steering = [
    '.git/hooks/pre-commit',
    '.git/config',
    '.claude/settings.local.json',
    '.perpetualcc/rules.toml',
    '.mcp.json',
  ]
  const project = tempDir(t)
  const decide = openProject(project, {
    'ok.patch': patchOf('src/a.ts'),
    'new.patch':
      'diff --git a/src/b.ts b/src/b.ts\nnew file mode 100644\n--- /dev/null\n+++ b/src/b.ts\n@@ -0,0 +1 @@\n+x\n',
    'out.patch': patchOf('../x'),
    'link.patch': 'diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../..\n',
    'rename.patch': 'diff --git a/a b/.mcp.json\nsimilarity index 100%\nrename from a\nrename to .mcp.json\n',
    'mode.patch': 'diff --git a/.git/hooks/x b/.git/hooks/x\nold mode 100644\nnew mode 100755\n',
    'quoted.patch': '--- /dev/null\n+++ "b/.cl\\141ude/settings.json"\n@@ -0,0 +1 @@\n+x\n',
    'context.patch':
      '*** .mcp.json\t2020-01-01\n--- .mcp.json\t2020-01-01\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n',
    'ed.patch': '1d\n!rm x\n',
    'deep.patch': patchOf('x/y/.mcp.json'),
    ...Object.fromEntries(steering.map((name, at) => [`s${at}.patch`, patchOf(name)])),
  })
  const ways = (name: string) => [
    `git apply ${name}.patch`,
    `patch -p1 -i ${name}.patch`,
    `patch -p1 < ${name}.patch`,
    `patch --strip=1 --input=${name}.patch`,
    `git apply -p1 --index ok.patch ${name}.patch`,
  ]
  for (const name of ['ok', 'new'])
    for (const command of ways(name)) assert.equal(await decide(command), 'runs', command)
  for (const name of [...steering.keys()].map(at => `s${at}`).concat('out', 'link', 'rename', 'mode', 'quoted'))
    for (const command of ways(name)) assert.equal(await decide(command), 'HIGH', command)
  const rows: [string, string][] = [
    ['patch -p0 < context.patch', 'HIGH'],
    ['patch < deep.patch', 'HIGH'],
    ['git apply -p3 deep.patch', 'HIGH'],
    ['git apply --directory=.claude/hooks ok.patch', 'HIGH'],
    ['patch -d .git -p1 -i ok.patch', 'HIGH'],
    [`git apply <<'EOF'\n${patchOf('.mcp.json')}EOF`, 'HIGH'],
    [`cat <<'EOF' | patch -p1\n${patchOf('.mcp.json')}EOF`, 'HIGH'],
    ['git apply --check s0.patch', 'runs'],
    ['patch -p1 < ed.patch', 'asked'],
    ['git apply missing.patch', 'asked'],
    ['git diff | git apply -R', 'asked'],
    ['git apply "$X"', 'asked'],
  ]
  for (const [command, expected] of rows) assert.equal(await decide(command), expected, command)
})

test('an archive is judged by the files that it writes, and is asked about in any case', async t => {
  const project = tempDir(t)
  const decide = openProject(project, {
    'src/a.ts': 'x',
    'evil/.claude/settings.json': '{}',
    'evil/a.txt': 'x',
    'broken.tar': 'no archive',
  })
  symlinkSync('../../..', join(project, 'evil/up'))
  const tar = (...args: string[]) => execFileSync('tar', args, { cwd: project, stdio: 'ignore' })
  tar('cf', 'ok.tar', 'src')
  tar('czf', 'ok.tgz', 'src')
  tar('cf', 'evil.tar', '-C', 'evil', '.claude')
  tar('czf', 'evil.tgz', '-C', 'evil', '.claude')
  tar('cf', 'out.tar', '--transform', 's,src/a.ts,../x,', 'src/a.ts')
  tar('cf', 'link.tar', '-C', 'evil', 'up')
  tar('cf', 'long.tar', '--transform', `s,src/a.ts,${'d/'.repeat(80)}.mcp.json,`, 'src/a.ts')
  tar('cf', 'pax.tar', '--format=pax', '--transform', `s,src/a.ts,${'d/'.repeat(80)}.mcp.json,`, 'src/a.ts')
  writeFileSync(join(project, 'evil.zip'), zipOf('.git/hooks/pre-commit'))
  writeFileSync(join(project, 'ok.zip'), zipOf('src/b.ts'))
  const rows: [string, string][] = [
    ['tar xf ok.tar', 'asked'],
    ['tar xzf ok.tgz -C src', 'asked'],
    ['tar xf broken.tar', 'asked'],
    ['tar xf missing.tar', 'asked'],
    ['tar xf evil.tar', 'HIGH'],
    ['tar -xzf evil.tgz', 'HIGH'],
    ['tar -x -f evil.tar', 'HIGH'],
    ['tar --extract --file=evil.tar', 'HIGH'],
    ['tar x < evil.tar', 'HIGH'],
    ['tar xf out.tar', 'HIGH'],
    ['tar xf link.tar', 'HIGH'],
    ['tar xf long.tar', 'HIGH'],
    ['tar xf pax.tar', 'HIGH'],
    ['tar xf ok.tar -C .git/hooks --strip-components=1', 'HIGH'],
    ['unzip ok.zip', 'asked'],
    ['unzip -o evil.zip', 'HIGH'],
    ['unzip ok.zip -d .git', 'HIGH'],
    ['rsync -a evil/ ./', 'HIGH'],
    ['rsync -a --exclude=.claude evil/ ./', 'runs'],
    ['cp -r evil/. .', 'HIGH'],
    ['cp -r src/. lib', 'runs'],
  ]
  for (const [command, expected] of rows) assert.equal(await decide(command), expected, command)
})

/** A zip archive with one empty file. */
function zipOf(name: string): Buffer {
  const local = Buffer.alloc(30)
  local.write('PK\x03\x04', 'latin1')
  local.writeUInt16LE(name.length, 26)
  const entry = Buffer.alloc(46)
  entry.write('PK\x01\x02', 'latin1')
  entry.writeUInt16LE(name.length, 28)
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(46 + name.length, 12)
  end.writeUInt32LE(30 + name.length, 16)
  return Buffer.concat([local, Buffer.from(name), entry, Buffer.from(name), end])
}

test('the names in an archive are those that the real tar wrote into it', t => {
  const folder = tempDir(t)
  const part = fc.constantFrom('a', 'b c', 'ä', 'x'.repeat(90), '.d', "q'", 'n"')
  let round = 0
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('gnu', 'pax', 'ustar'),
      (parts, format) => {
        const top = join(folder, `r${round++}`)
        const name = parts.join('/')
        if (format === 'ustar' && name.length > 95) return
        mkdirSync(join(top, dirname(name)), { recursive: true })
        writeFileSync(join(top, name), 'text')
        execFileSync('tar', ['cf', '../t.tar', `--format=${format}`, '--', name], { cwd: top })
        assert.deepEqual(readArchive(readFileSync(join(folder, 't.tar')))?.names, [name])
      },
    ),
    { numRuns: 30 },
  )
})

test('no cut or changed archive makes the reader fail', () => {
  const bytes = fc.uint8Array({ maxLength: 1200 })
  fc.assert(
    fc.property(bytes, fc.constantFrom('', 'PK\x03\x04', '\x1f\x8b\x08'), (random, start) => {
      readArchive(Buffer.concat([Buffer.from(start, 'latin1'), random]))
    }),
  )
  fc.assert(fc.property(fc.string(), text => void readPatch(`+++ ${text}\n--- "${text}\ndiff --git ${text}`)))
})
