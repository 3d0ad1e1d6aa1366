import { parentPort } from 'node:worker_threads'
import { createFence, resolveRealPath } from '../paths/fence.ts'
import { lookAtPath, rememberFiles } from '../paths/look.ts'
import { assessCommand } from './assess.ts'
import { addHashes } from './assessment-tree.ts'
import type { AssessJob } from './classify.ts'

// Assesses one command at a time; the owner terminates this worker if that takes too long.
parentPort?.on('message', ({ command, cwd, fence }: AssessJob) => {
  const files = rememberFiles(path => lookAtPath(path), resolveRealPath)
  const assessment = assessCommand(command, { cwd, fence: createFence(fence, files.realPath, files.look) })
  parentPort?.postMessage(addHashes(assessment, files.hashes))
})
