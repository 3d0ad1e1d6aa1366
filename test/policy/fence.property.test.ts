import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { isInside } from '../../src/base/is-inside.ts'
import type { Assessment } from '../../src/domain/assessment.ts'
import { classify } from '../../src/policy/classify/classify.ts'
import { resolveRealPath } from '../../src/policy/paths/fence.ts'
import { tempDir } from '../support/world.ts'

const name = fc.constantFrom('a', 'b', 'app', 'app2', '..', '.', 'in', 'out', 'up', 'gone', '~', 'A', 'ä')
const spelled = fc
  .tuple(fc.constantFrom('', '/', './', '~/', '//', 'PROJECT/', 'BASE/'), fc.array(name, { maxLength: 6 }))
  .map(([start, parts]) => start + parts.join('/'))

test('whatever may be written without a person lies inside the project once the kernel has followed every link', t => {
  const base = resolveRealPath(tempDir(t)) ?? ''
  const project = join(base, 'app')
  for (const dir of ['app/a/b', 'app2/a', 'out/a', 'home']) mkdirSync(join(base, dir), { recursive: true })
  symlinkSync('a', join(project, 'in'))
  symlinkSync('../out', join(project, 'out'))
  symlinkSync('..', join(project, 'up'))
  symlinkSync('../out/gone', join(project, 'gone'))
  symlinkSync(project, join(base, 'out/app'))
  writeFileSync(join(project, 'b'), '')
  const home = join(base, 'home')
  const safeDirectories = ['a/', 'b/', 'app/', 'in/']
  let allowed = 0
  fc.assert(
    fc.property(spelled, text => {
      const path = text.replace('PROJECT', project).replace('BASE', base)
      const question = { tool: 'Write', input: { file_path: path }, project, home, safeDirectories }
      const { reasons } = classify(question) as Assessment
      if (!reasons.every(({ code }) => code === 'write.safe' || code === 'write.project')) return
      allowed += 1
      assert.ok(isInside(kernelPath(path, project, home), project), path)
    }),
    { numRuns: 400 },
  )
  assert.ok(allowed > 20, `only ${allowed} paths were allowed: the property saw too little`)
})

test('a path made of plain names in a safe folder is LOW, in the project MEDIUM at most', () => {
  const plain = fc.stringMatching(/^[a-z][a-z0-9_]{0,8}\.ts$/)
  const riskOf = (file_path: string) => riskHere('Write', { file_path })
  fc.assert(
    fc.property(fc.array(plain, { minLength: 1, maxLength: 5 }), parts => {
      assert.equal(riskOf(`src/${parts.join('/')}`), 'LOW')
      assert.equal(riskOf(parts.join('/')), 'MEDIUM')
    }),
  )
})

test('a sibling whose name begins like the project is outside, the project itself and all below it is inside', () => {
  const part = fc.stringMatching(/^[a-z.]{1,6}$/).filter(text => text !== '.' && text !== '..')
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), part, (parts, more) => {
      const folder = `/${parts.join('/')}`
      assert.ok(isInside(folder, folder))
      assert.ok(isInside(`${folder}/${more}`, folder))
      assert.equal(isInside(folder + more, folder), false)
      assert.equal(isInside(folder, `${folder}/${more}`), false)
    }),
  )
})

test('any call of any shape is assessed, and an unknown tool is never LOW', () => {
  const input = fc.dictionary(fc.constantFrom('file_path', 'path', 'pattern', 'glob', 'command', 'x'), fc.jsonValue())
  fc.assert(fc.property(fc.string(), input, (tool, given) => riskHere(`x${tool}`, given) !== 'LOW'))
  const known = fc.constantFrom('Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'LS')
  fc.assert(fc.property(known, input, (tool, given) => ['LOW', 'MEDIUM', 'HIGH'].includes(riskHere(tool, given))))
})

test('the followed path is where the system itself would write', t => {
  const base = resolveRealPath(tempDir(t)) ?? ''
  const names = ['a', 'b', 'c', 'd']
  const link = fc.record({
    from: fc.constantFrom(...names),
    to: fc.constantFrom('a', 'b/x', '../b', './c', '..', '/tmp'),
  })
  fc.assert(
    fc.property(
      fc.array(link, { maxLength: 4 }),
      fc.constantFrom('a', 'a/x', 'b/y', 'c/../d', 'd/x/y'),
      (links, path) => {
        const dir = join(base, 'w')
        rmSync(dir, { recursive: true, force: true })
        mkdirSync(dir)
        for (const { from, to } of new Map(links.map(one => [one.from, one])).values()) symlinkSync(to, join(dir, from))
        const ours = resolveRealPath(join(dir, path))
        if (ours !== undefined) assert.equal(ours, kernelPath(join(dir, path), dir, base))
      },
    ),
    { numRuns: 150 },
  )
})

/** Where a path leads according to coreutils, which is not our implementation. For `..` it leaves the folder of a link's target. */
function kernelPath(path: string, cwd: string, home: string): string {
  const expanded = path === '~' ? home : path.startsWith('~/') ? join(home, path.slice(2)) : path
  const absolute = expanded.startsWith('/') ? expanded : `${cwd}/${expanded}`
  return execFileSync('realpath', ['-m', '--', absolute], { encoding: 'utf8', timeout: 5_000 }).replace(/\n$/, '')
}

function riskHere(tool: string, input: Record<string, unknown>): string {
  const question = { tool, input, project: '/p/app', home: '/h' }
  return (classify(question, { realPath: path => path }) as Assessment).risk
}
