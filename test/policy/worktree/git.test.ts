import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide } from '../../../src/policy/verdict/decide.ts'
import { inWorktree, REPOSITORY, TOP } from './in-worktree.ts'

const { command, refuses, isRefused } = inWorktree()

const ALLOWED = `
git add src/a.ts
git add -A
git add -p
git commit -m "a change"
git commit -am 'a change'
git commit --amend --no-edit
git commit -F message.txt
git diff
git diff HEAD~1 -- src
git diff --stat main...HEAD
git status
git status --porcelain
git log --oneline -5
git log main..HEAD
git show HEAD
git show HEAD:src/a.ts
git restore src/a.ts
git restore --staged src/a.ts
git stash
git stash push -m wip
git stash pop
git stash list
git mv a b
git rm a
git rev-parse HEAD
git rev-parse --show-toplevel
git ls-files
git blame src/a.ts
git grep needle
git --no-pager log
git -c color.ui=always diff
git -c core.pager=cat log
git -c user.name=a -c user.email=b commit -m x
git -C src status
git -C ${TOP}/src log
cd src && git add .
git reset
git reset HEAD src/a.ts
git reset -- src/a.ts
git branch
git branch -a
git branch --show-current
git branch --contains HEAD
git tag
git tag -l 'v1*'
git remote -v
git remote get-url origin
git config user.name
git config --get core.autocrlf
git config --list
git worktree list
git submodule status
git reflog
git checkout -- src/a.ts
git checkout --ours -- src/a.ts
git clean -n
git help rebase
git push --help
env git status
sh -c 'git status'
git status && git diff
(cd src && ls); git commit -m x
`

const REFUSED = `
git push
git push origin HEAD
git push --force
git pull
git pull --rebase
git fetch
git fetch origin main
git ls-remote
git clone https://example.org/a.git
git clone . /tmp/b
git checkout main
git checkout -b other
git checkout -B pcc/t-9
git checkout HEAD~3
git checkout -
git switch main
git switch -c other
git merge main
git merge --abort
git merge --continue
git rebase main
git rebase -i HEAD~3
git rebase --continue
git rebase --abort
git rebase --skip
git cherry-pick abc123
git revert HEAD
git worktree add ../x
git worktree remove ../x
git worktree prune
git worktree move a b
git remote add x https://example.org
git remote set-url origin https://example.org
git remote remove origin
git remote show origin
git submodule update --init
git submodule add https://example.org/a
git submodule foreach 'git pull'
git config user.name other
git config --global user.name other
git config core.hooksPath hooks
git config set core.hooksPath hooks
git config --unset user.name
git config --add a.b c
git config -e
git config alias.x push
git branch -D main
git branch -d main
git branch -m other
git branch -f main HEAD
git branch other
git branch --set-upstream-to=origin/main
git update-ref refs/heads/main HEAD
git symbolic-ref HEAD refs/heads/main
git tag v1
git tag -d v1
git tag -a v1 -m x
git gc
git gc --prune=now
git prune
git repack -ad
git filter-branch --all
git reflog expire --expire=now --all
git reset --hard
git reset --hard main
git reset --soft HEAD~1
git reset HEAD~1
git reset main
git reset --keep HEAD~1
git stash drop
git stash clear
git stash branch other
git stash store abc
git notes add -m x
git replace a b
git bisect start
git am < patch
git init
git init sub
git update-index --assume-unchanged src/a.ts
git read-tree main
git checkout-index -a
git sparse-checkout set src
git maintenance start
git lfs push origin main
git bundle create x HEAD
git daemon
git nonsense
git clean -fd
git -C /home/u/shop status
git -C .. commit -m x
git -C /home/u/shop commit -m x
git -C "$DIR" status
git --git-dir=/home/u/shop/.git commit -m x
git --git-dir /home/u/shop/.git log
git --work-tree=/home/u/shop status
git --work-tree /tmp add .
git --namespace=x log
git --exec-path=/tmp status
git --bare log
git --config-env=alias.x=Y x
git -c alias.p=push p
git -c core.hooksPath=/tmp commit -m x
git -c core.sshCommand=x status
git -c core.worktree=/tmp status
git -c "$X" status
git $verb
git "$(cat verb)"
git \${X:-push}
GIT_DIR=/home/u/shop/.git git commit -m x
GIT_WORK_TREE=/tmp git add .
GIT_INDEX_FILE=/tmp/i git add .
export GIT_DIR=/home/u/shop/.git; git commit -m x
env GIT_DIR=/home/u/shop/.git git commit -m x
env git push
env -i git push
command git push
exec git push
nohup git push
timeout 5 git push
nice git push
sh -c 'git push'
bash -lc "git push origin main"
bash -c 'cd /home/u/shop && git commit -m x'
eval git push
eval "git push"
cd /home/u/shop && git commit -m x
cd .. && git status
cd "$DIR" && git commit -m x
pushd /home/u/shop; git merge x
/usr/bin/git push
/usr/lib/git-core/git-push
git-push
git-upload-pack .
hub push
lazygit
jj git push
ls | xargs git push
echo push | xargs git
find . -exec git push ;
git status; git push
git status && git push
git status || git push
git add . & git push
echo "$(git push)"
f() { git push; }; f
if true; then git push; fi
for v in push pull; do git $v; done
v=push; git $v
'git' 'push'
g""it pu""sh
gi\\t push
`

const lines = (text: string) => text.split('\n').filter(line => line !== '')

for (const line of lines(ALLOWED))
  test(`in a worktree the boundary lets pass: ${line}`, () => {
    assert.deepEqual(
      command(line).reasons.filter(({ code }) => code.startsWith('boundary.')),
      [],
    )
  })

for (const line of lines(REFUSED))
  test(`in a worktree the boundary refuses: ${line}`, () => {
    const assessment = command(line)
    assert.ok(isRefused(assessment), assessment.reasons.map(({ code, text }) => `${code}: ${text}`).join('\n'))
    assert.equal(assessment.risk, 'HIGH')
  })

test('a session that works in the project itself has no boundary of this kind', () => {
  for (const line of [...lines(ALLOWED), ...lines(REFUSED)]) {
    const { reasons } = command(line, { project: '/home/u/shop', worktree: undefined })
    assert.ok(!reasons.some(({ code }) => code.startsWith('boundary.')), line)
  }
})

test('a refusal says the way round', () => {
  const textOf = (line: string) => command(line).reasons.find(({ code }) => code === 'boundary.git')?.text ?? ''
  assert.match(textOf('git push'), /commit here; pcc merges it/)
  assert.match(textOf('git rebase --continue'), /pcc continues/)
  assert.match(textOf('git merge --abort'), /pcc continues/)
  assert.match(textOf('git pull'), /pcc brings in what others have merged/)
  assert.match(textOf('git switch main'), /stay on this branch/)
  assert.match(textOf('git -C /elsewhere log'), /work in this worktree/)
})

test('no rule, no person at the terminal and no brain lets a refused command through', async () => {
  const everything = { effect: 'allow', tool: 'Bash', pattern: '*', from: 'user' } as const
  const decision = await decide(
    command('git push'),
    {
      tool: 'Bash',
      blocked: [],
      rules: [everything as never],
      autoApproveLow: true,
      threshold: 0,
      attached: true,
      unattendedHigh: 'wait',
      precedent: async () => ({ approve: true, confidence: 1, reason: 'yes' }),
      opinion: () => ({ approve: true, confidence: 1, reason: 'yes' }),
    },
    AbortSignal.timeout(60_000),
  )
  assert.equal(decision.verdict, 'deny')
  assert.match(decision.reason, /pcc merges it/)
})

test('the boundary is the worktree also where the project lies elsewhere, and a folder of it where the project is one', () => {
  assert.ok(refuses(`cp a ${REPOSITORY}/config`))
  const elsewhere = { project: '/home/u/shop' }
  assert.equal(command('cp src/a src/b', elsewhere).risk, 'MEDIUM')
  const folder = { project: `${TOP}/packages/web` }
  assert.ok(command(`cp a ${TOP}/packages/api/b`, folder).reasons.some(({ code }) => code === 'path.outside'))
})
