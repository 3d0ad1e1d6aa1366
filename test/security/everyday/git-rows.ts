import type { Group, Row } from './table.ts'

const edit = (text: string) => `echo ${text} >> README.md`

/** What everybody does with git. It works alike in a checkout and in a worktree. */
const WORK: Row[] = [
  { name: 'git status', run: 'git status --short --branch' },
  {
    name: 'git commit, by the name in an included file of ~/.gitconfig, which asks to sign',
    run: `${edit('one')}; git add -A && git commit -qm one && git log -1 --format='%an <%ae> %G?'`,
    prints: /Ada Person <ada@example\.invalid> N/,
  },
  {
    name: 'git add leaves out what the person ignores everywhere',
    run: 'touch editor.swp && git add -A && git status --short',
    never: /editor\.swp/,
  },
  {
    name: 'git commit --amend',
    run: `${edit('two')}; git commit -qa --amend --no-edit && git show --stat HEAD`,
    prints: /README\.md/,
  },
  { name: 'git switch -c, and back', run: 'git switch -qc topic && git switch -q - && git branch', prints: /topic/ },
  {
    name: 'git merge --no-ff',
    run: 'git switch -q topic && echo a > a.txt && git add a.txt && git commit -qm a && git switch -q - && git merge -q --no-ff --no-edit topic && ls',
    prints: /a\.txt/,
  },
  { name: 'git branch -d', run: 'git branch -d topic', prints: /Deleted branch topic/ },
  {
    name: 'git stash, and pop',
    run: `${edit('three')}; git stash -q && git diff --exit-code && git stash pop -q && git diff`,
    prints: /three/,
  },
  { name: 'git commit -a', run: 'git commit -qam three' },
  {
    name: 'git rebase',
    run: 'git switch -qc side HEAD~1 && echo b > b.txt && git add b.txt && git commit -qm b && git rebase -q - && git log --oneline',
    prints: /three/,
  },
  {
    name: 'git rebase -i with a script as editor',
    run: `echo c >> b.txt && git commit -qam 'fixup! b' && GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~2 && git log --oneline`,
    never: /fixup/,
  },
  { name: 'git cherry-pick', run: 'git switch -q - && git cherry-pick side && git log -1 --format=%s', prints: /^b$/m },
  { name: 'git revert', run: 'git revert --no-edit HEAD && git log -1 --format=%s', prints: /Revert "b"/ },
  { name: 'git reset --hard', run: 'git reset -q --hard HEAD~1 && git status --short' },
  { name: 'git tag, with a message', run: 'git tag -a v1 -m v1 && git tag', prints: /v1/ },
  { name: 'git tag, and its deletion', run: 'git tag v2 && git tag -d v2', prints: /Deleted tag/ },
  {
    name: 'git log, diff and blame',
    run: 'git log --graph --oneline && git diff HEAD~1 && git blame README.md',
    prints: /sample/,
  },
  { name: 'git bisect run', run: 'git bisect start HEAD HEAD~2 && git bisect run test ! -e b.txt; git bisect reset' },
  { name: 'git clean', run: 'touch waste && git clean -fdq && test ! -e waste' },
  {
    name: 'git clone of a bare repository',
    run: 'git clone -q --bare . "$TMPDIR/copy.git" && git clone -q "$TMPDIR/copy.git" "$TMPDIR/clone" && git -C "$TMPDIR/clone" log -1',
  },
  {
    name: 'git push to a remote of the project',
    run: 'git push -q origin HEAD:refs/heads/pushed && git ls-remote origin',
    prints: /refs\/heads\/pushed/,
  },
  {
    name: 'git push -u',
    run: 'git push -u origin HEAD:refs/heads/tracked && git ls-remote origin',
    prints: /refs\/heads\/tracked/,
  },
  { name: 'git fetch', run: 'git fetch origin && git branch -r', prints: /origin\/pushed/ },
  { name: 'git pull', run: 'git pull -q --rebase origin pushed' },
  { name: 'git switch to a branch of the remote', run: 'git switch tracked && git branch', prints: /tracked/ },
  {
    name: 'a hook of the repository runs',
    run: 'echo d > d.txt && git add d.txt && git commit -qm d && cat hook-ran',
    prints: /it ran/,
  },
  {
    name: 'git format-patch and git am',
    run: 'git format-patch -1 --stdout > "$TMPDIR/x.patch" && git reset -q --hard HEAD~1 && git am -q "$TMPDIR/x.patch"',
  },
  { name: 'git archive', run: 'git archive HEAD | tar t', prints: /README\.md/ },
  { name: 'git grep', run: 'git grep -n sample', prints: /README\.md/ },
]

const files = {
  'README.md': '# sample\n',
  'hooks/pre-commit': '#!/bin/sh\necho it ran > hook-ran\n',
  '.gitignore': 'hook-ran\norigin.git\n',
}

/**
 * In a worktree git cannot delete a ref, because it locks a file in the folder that all checkouts share, which is read-only. It says so for
 * a branch or a tag; after a cherry-pick it leaves a file that the next command has to remove. Branches of the agent's own begin with pcc/; all
 * others, and tags, are read-only.
 */
const REMOVE_LEFT = 'rm -f "$(git rev-parse --git-path CHERRY_PICK_HEAD)"'
const ofItsOwn = (row: Row): Row => ({ ...row, run: row.run.replaceAll(/\b(topic|side)\b/g, 'pcc/$1') })
const IN_WORKTREE: Record<string, (row: Row) => Row> = {
  'git switch -c, and back': ofItsOwn,
  'git merge --no-ff': ofItsOwn,
  'git rebase': ofItsOwn,
  'git branch -d': row => ({ ...ofItsOwn(row), exit: 1, prints: /packed-refs\.lock.*Read-only/ }),
  'git tag, with a message': row => ({ ...row, exit: 128, prints: /refs\/tags.*Read-only/ }),
  'git tag, and its deletion': row => ({ ...row, exit: 128, prints: /refs\/tags.*Read-only/ }),
  'git switch to a branch of the remote': row => ({ ...row, exit: 128, prints: /refs\/heads\/tracked.*Read-only/ }),
  'git rebase -i with a script as editor': row => ({ ...row, run: `${row.run} && ${REMOVE_LEFT}` }),
  'git cherry-pick': row => ({ ...ofItsOwn(row), run: `${ofItsOwn(row).run} && ${REMOVE_LEFT}` }),
}

export const GIT: Group[] = [
  {
    name: 'git in a checkout',
    files,
    rows: [
      ...WORK,
      {
        name: 'git init of another repository',
        run: 'git init -q other && cd other && git config user.name B && git commit -q --allow-empty -m x && git gc -q && git log',
      },
    ],
  },
  { name: 'git in a worktree', files, rows: WORK.map(row => IN_WORKTREE[row.name]?.(row) ?? row), inWorktree: true },
]
