import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundleClient, bundlePackage } from './bundle.ts'
import { ROOT, tool } from './places.ts'

// dist/ is what npm publishes: a bundle of src/, small enough to start in milliseconds.
const outDir = join(ROOT, 'dist')
rmSync(outDir, { recursive: true, force: true })
bundlePackage(tool('esbuild'), { root: ROOT, outDir })
bundleClient({ esbuild: tool('esbuild'), tsc: tool('tsc') }, { root: ROOT, outDir: join(outDir, 'client') })
