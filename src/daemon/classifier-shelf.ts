import type { Assessment } from '../domain/assessment.ts'
import type { Classifier, Question } from '../policy/classify/classify.ts'

/** The daemon's one classifier, made with the first request: a daemon without sessions need not hold its tables. */
export interface ClassifierShelf extends Disposable {
  classify(question: Question): Promise<Assessment>
}

/** Made when it is needed, disposed of with its worker when the daemon has drained. */
export function classifierShelf(): ClassifierShelf {
  let classifier: Promise<Classifier> | undefined
  return {
    async classify(question) {
      classifier ??= open()
      return (await classifier).classify(question)
    },
    [Symbol.dispose]() {
      classifier?.then(opened => opened[Symbol.dispose]()).catch(() => undefined)
    },
  }
}

async function open(): Promise<Classifier> {
  const { openClassifier } = await import('../policy/classify/classify.ts')
  return openClassifier()
}
