import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { inWorktree } from './in-worktree.ts'

const { command, isRefused } = inWorktree()

/** A command that no shell can read is refused for that reason. */
function refuses(line: string): boolean {
  const assessment = command(line)
  return isRefused(assessment) || assessment.reasons.some(({ code }) => code === 'shell.unreadable')
}

const refused = fc.constantFrom(
  ...[
    'push',
    'push origin HEAD:main',
    'pull',
    'fetch --all',
    'checkout main',
    'switch main',
    'merge main',
    'rebase main',
  ],
  ...[
    'rebase --continue',
    'worktree add x',
    'remote add a b',
    'config a.b c',
    'branch -D main',
    'update-ref a b',
    'tag v1',
  ],
  ...[
    'gc',
    'filter-branch',
    'reset --hard',
    'stash clear',
    'submodule update',
    'clone a b',
    'unheard-of',
    'cherry-pick a',
  ],
)
/** Flags that git accepts before its verb. None turns a verb into another. */
const globals = fc.array(
  fc.constantFrom(
    '--no-pager',
    '-P',
    '-c color.ui=false',
    '-C .',
    '-C src',
    '--no-optional-locks',
    '--literal-pathspecs',
    '-c user.name=x',
  ),
  { maxLength: 3 },
)
const program = fc.constantFrom(
  'git',
  '/usr/bin/git',
  'command git',
  'env git',
  'env A=1 git',
  'exec git',
  "'git'",
  'g\\it',
  '"git"',
)
const wrap = fc.constantFrom<(inner: string) => string>(
  inner => inner,
  inner => `timeout 5 ${inner}`,
  inner => `nohup ${inner}`,
  inner => `( ${inner} )`,
  inner => `{ ${inner}; }`,
  inner => `if true; then ${inner}; fi`,
  inner => `true && ${inner}`,
  inner => `ls | ${inner}`,
  inner => `${inner} | cat`,
  inner => `echo "$( ${inner} )"`,
  inner => `f() { ${inner}; }; f`,
  inner => `A=1 ${inner}`,
  inner => `bash -c ${quoted(inner)}`,
  inner => `sh -c ${quoted(inner)}`,
  inner => `eval ${quoted(inner)}`,
  inner => `bash <<'END_OF_IT'\n${inner}\nEND_OF_IT`,
  inner => `cat <( ${inner} )`,
  inner => `case a in a) ${inner};; esac`,
  inner => `cd src && ${inner}`,
)
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

test('no spelling of a refused git command gets through', () => {
  fc.assert(
    fc.property(fc.array(wrap, { maxLength: 3 }), program, globals, refused, (wraps, name, flags, verb) => {
      // `exec` and quoted programs work only where a shell reads them; after a wrapper they are ordinary words.
      const plain = wraps.length === 0 ? name : name.replace(/^(exec|command) /, '')
      const line = wraps.reduce((inner, each) => each(inner), [plain, ...flags, verb].join(' '))
      assert.ok(refuses(line), line)
    }),
    { numRuns: 1_500 },
  )
})

test('no word is taken for a git command that the table does not know', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z]{1,3}[a-z-]{4,12}$/), word => {
      fc.pre(!KNOWN.has(word))
      assert.ok(refuses(`git ${word}`), word)
    }),
    { numRuns: 500 },
  )
})

test('git anywhere but in the worktree is refused, whatever it does', () => {
  const elsewhere = fc.constantFrom(
    '/home/u/shop',
    '..',
    '../t-999999',
    '/',
    '~',
    '$HOME',
    '/tmp',
    'src/../..',
    '$OLDPWD',
  )
  const verbs = fc.constantFrom('add .', 'commit -m x', 'status', 'stash', 'restore a')
  fc.assert(
    fc.property(elsewhere, verbs, fc.boolean(), (place, verb, moves) => {
      const line = moves ? `cd ${place} && git ${verb}` : `git -C ${place} ${verb}`
      assert.ok(refuses(line), line)
    }),
  )
})

const KNOWN = new Set(Object.keys((await import('../../../src/policy/programs/git-worktree.ts')).WORKTREE_GIT))
