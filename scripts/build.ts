import { spawnSync } from 'node:child_process'
import { cpSync, globSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, tool } from './places.ts'

// dist/ is what npm publishes: src/ compiled by tsc, plus the files that are not TypeScript, as they are.
const src = join(ROOT, 'src')
const dist = join(ROOT, 'dist')
rmSync(dist, { recursive: true, force: true })
// `npm run check` checks types; doing it here would take four times as long as everything else.
const compiled = spawnSync(tool('tsc'), ['-p', 'tsconfig.build.json', '--noCheck'], { cwd: ROOT, stdio: 'inherit' })
if (compiled.status !== 0) process.exit(1)
for (const path of globSync('**/*', { cwd: src })) {
  if (!path.endsWith('.ts') && statSync(join(src, path)).isFile()) cpSync(join(src, path), join(dist, path))
}
